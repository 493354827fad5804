// Traffic: a random history of groups. What History draws, several at a time, plus what goes between jobs: signals and
// registrations, mailboxes that are served page by page, sends through the outbox, repeated signals.
#pragma once

#include <set>

#include "store/conformance/history.h"
#include "store/domain.h"

namespace pawl::store {

class Traffic final : public History {
 public:
  // `groups`: where lanes are islands, a group stays in one domain.
  enum class Groups : bool { of_one_domain, of_any };
  Traffic(Store& store, ManualClock& clock, core::LaneId first_lane, HistoryOptions options, Groups groups)
      : History(store, clock, first_lane, by_lane(std::move(options))), groups_(groups) {}

  std::string step() override;
  std::string read_back() override;

  // What happened, to check that a history has everything in it.
  const std::set<std::size_t>& writes() const { return writes_; }  // kinds, in committed bundles
  const std::set<std::string>& met() const { return met_; }        // operation and outcome
  std::size_t largest() const { return largest_; }                 // group

 private:
  static constexpr std::uint64_t keys_max = 5;
  static HistoryOptions by_lane(HistoryOptions options) {
    options.by_lane = true;
    return options;
  }
  std::vector<Operation> draw_group();
  Operation draw_any();
  Operation draw_sending_bundle();
  std::optional<core::Bundle> draw_served_mailbox();
  core::Envelope draw_envelope();
  core::Message draw_word();
  core::MailboxKey draw_key();
  core::Guid draw_signal() { return core::Guid{100 + random_.below(40), 1}; }
  core::Guid draw_registration() { return core::Guid{200 + random_.below(20), 1}; }
  core::LaneId lane_of_target(const core::Target& to) const;
  std::string play_and_count(const std::vector<Operation>& group);
  // Some of the rows in the outboxes are sent, as the lane owner sends them; for some of these the answer is lost, and
  // they are sent again.
  std::string send_outboxes();
  // Jobs that were created by what others sent.
  void find_children();

  std::string name_of(const core::Target& to) const;
  std::string read_mailboxes();
  std::string read_outboxes();
  std::string read_lists();

  const Groups groups_;
  std::set<std::size_t> writes_;
  std::set<std::string> met_;
  std::size_t largest_ = 0;
};

}  // namespace pawl::store
