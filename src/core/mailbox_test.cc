#include "core/mailbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "core/apply.h"
#include "core/signal_id.h"

namespace pawl::core {

namespace {

Delivery signal(std::uint64_t number, ReplyStatus status = ReplyStatus::success) {
  return {{Guid{number, 1}, Signal{Payload("s"), status}}, Origin::memory, 0, false};
}
Delivery pending(std::uint64_t number) { return signal(number, ReplyStatus::pending); }
Delivery registration(std::uint64_t number) {
  return {{Guid{number, 2}, Register{RunId(number), ActivitySeq(3)}}, Origin::memory, 0, false};
}
Delivery withdraw(std::uint64_t number) {
  return {{Guid{number, 3}, Withdraw{Guid{number, 2}}}, Origin::memory, 0, false};
}
Delivery taken(std::uint64_t signalled, std::uint64_t by) {
  const Guid registered{by, 2};
  const Guid resume = meeting_of(Guid{signalled, 1}, registered);
  return {{resume.derive(Guid::Purpose::taken, 0), Taken{registered, resume}}, Origin::memory, 0, false};
}
Delivery drop(std::uint64_t number) {
  const Guid signalled{number, 1};
  return {{drop_of(signalled), DropSignal{signalled}}, Origin::memory, 0, false};
}
constexpr Instant start = Instant::from_micros(1'000'000);
constexpr Instant end_of_keep = start + limits::early_signal_keep;

// Decides and applies; remembers what was sent.
struct Box {
  MailboxState state;
  std::vector<Envelope> sent;
  std::map<Guid, Instant> timers;
  std::size_t consumed = 0;
  std::size_t rows_written = 0;
  Instant now = start;

  std::size_t take(std::vector<Delivery> deliveries, const MailboxCut& cut = {}) {
    return take_of(state, deliveries, cut);
  }

  // `seen`: a page of the state.
  std::size_t take_of(const MailboxState& seen, const std::vector<Delivery>& deliveries, const MailboxCut& cut = {}) {
    DecideOptions options;
    options.now = now;
    const Decision decision = decide(seen, deliveries, options, cut);
    if (!decision.bundle) return decision.done.size();
    EXPECT_TRUE(check(state, *decision.bundle));
    apply(state, *decision.bundle);
    for (const Write& write : decision.bundle->writes) {
      if (const auto* send = std::get_if<Send>(&write)) sent.push_back(send->envelope);
      if (const auto* put = std::get_if<PutMessage>(&write)) timers[put->message.guid] = put->due;
      if (const auto* consume = std::get_if<Consume>(&write)) consumed += timers.erase(consume->guid) == 0 ? 1 : 0;
      rows_written += std::holds_alternative<PutEntry>(write) ? 1 : 0;
    }
    return decision.done.size();
  }
  // Which registration received which signal, by their numbers.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> meetings() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const Envelope& one : sent)
      for (std::uint64_t number = 1; number < 20; ++number) {
        const auto& resume = std::get<Resume>(one.message.body);
        if (meeting_of(Guid{number, 1}, resume.registration) == one.message.guid)
          all.emplace_back(number, std::get<RunId>(one.to).raw());
      }
    return all;
  }
  std::size_t waiting() const {
    return static_cast<std::size_t>(std::count_if(state.entries.begin(), state.entries.end(),
                                                  [](const MailboxEntry& entry) { return !entry.offered_to; }));
  }
};
using Meetings = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(mailbox, an_early_signal_waits_for_the_first_registration) {
  Box box;
  EXPECT_EQ(box.take({signal(1)}), 1u);
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.timers, (std::map<Guid, Instant>{{expiry_of(Guid{1, 1}), end_of_keep}}));
  EXPECT_EQ(box.take({registration(7)}), 1u);
  ASSERT_EQ(box.sent.size(), 1u);
  EXPECT_EQ(box.sent[0].to, Target(RunId(7)));
  const auto& resume = std::get<Resume>(box.sent[0].message.body);
  EXPECT_EQ(resume.activity, ActivitySeq(3));
  EXPECT_EQ(resume.registration, (Guid{7, 2}));
  EXPECT_EQ(resume.data, Payload("s"));
  EXPECT_TRUE(box.timers.empty()) << "it is out: no clock takes it";
}

TEST(mailbox, a_signal_that_is_out_stays_until_it_is_taken) {
  Box box;
  box.take({signal(1), registration(7)});
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.state.entries[0].offered_to, (Guid{7, 2}));
  EXPECT_EQ(box.waiting(), 0u);
  box.take({taken(1, 7)});
  EXPECT_TRUE(box.state.entries.empty());
  EXPECT_EQ(box.sent.size(), 1u);
}

TEST(mailbox, a_signal_that_is_dropped_goes_with_its_timer) {
  Box box;
  box.take({signal(1), signal(2), signal(3)});
  EXPECT_EQ(box.take({drop(2)}), 1u);
  EXPECT_EQ(box.waiting(), 2u);
  EXPECT_FALSE(box.timers.contains(expiry_of(Guid{2, 1})));
  box.take({registration(7), registration(8), registration(9)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {3, 8}}));
}

TEST(mailbox, a_signal_that_a_hook_was_offered_is_not_dropped) {
  Box box;
  box.take({signal(1), registration(7)});
  box.take({drop(1)});
  ASSERT_EQ(box.state.entries.size(), 1u) << "the hook may have taken it";
  box.take({withdraw(7)});
  EXPECT_EQ(box.waiting(), 1u);
  box.take({drop(1), drop(1), drop(5)});
  EXPECT_TRUE(box.state.entries.empty());
  EXPECT_TRUE(box.timers.empty());
}

TEST(mailbox, a_signal_that_comes_together_with_its_drop_is_never_there) {
  Box box;
  EXPECT_EQ(box.take({signal(1), drop(1), registration(7)}), 3u);
  EXPECT_TRUE(box.sent.empty());
  EXPECT_TRUE(box.timers.empty());
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Register>(box.state.entries[0].what));
}

TEST(mailbox, a_signal_that_its_hook_did_not_take_goes_to_the_next_one) {
  Box box;
  box.take({registration(7)});
  box.take({signal(1)});
  box.take({registration(8)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}})) << "it is out: nobody else gets it";
  box.take({withdraw(7)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {1, 8}}));
  box.take({taken(1, 8)});
  EXPECT_TRUE(box.state.entries.empty());
}

TEST(mailbox, a_signal_that_its_hook_did_not_take_waits_on_until_its_own_time) {
  Box box;
  box.take({signal(1), registration(7)});
  box.now = start + std::chrono::hours(5);
  box.take({withdraw(7)});
  ASSERT_EQ(box.waiting(), 1u);
  EXPECT_EQ(box.timers.at(expiry_of(Guid{1, 1})), end_of_keep) << "counted from when it was accepted";
  box.now = end_of_keep;
  box.take({});
  EXPECT_TRUE(box.state.entries.empty());
  EXPECT_TRUE(box.timers.empty());
}

TEST(mailbox, a_signal_whose_time_is_over_is_given_to_nobody) {
  Box box;
  box.take({signal(1), signal(2), registration(7)});
  box.now = end_of_keep;
  box.take({registration(8), withdraw(7)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}}));
  ASSERT_EQ(box.state.entries.size(), 1u);
  EXPECT_EQ(box.state.entries[0].guid, (Guid{8, 2}));
}

TEST(mailbox, signals_that_come_back_keep_their_order) {
  Box box;
  box.take({registration(7), signal(1), signal(2), signal(3)});
  box.take({withdraw(7)});
  box.take({registration(8), registration(9), registration(10)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {1, 8}, {2, 9}, {3, 10}}));
}

TEST(mailbox, of_pending_signals_those_that_were_taken_do_not_come_back) {
  Box box;
  box.take({pending(1), pending(2), signal(3), registration(7)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 7}, {3, 7}}));
  box.take({taken(1, 7), withdraw(7), registration(8)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 7}, {3, 7}, {2, 8}, {3, 8}}));
}

TEST(mailbox, a_pending_signal_leaves_its_taker_registered) {
  Box box;
  box.take({registration(7), pending(1)});
  box.take({taken(1, 7)});
  box.take({signal(2)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 7}}));
}

TEST(mailbox, a_registration_waits_for_the_first_signal) {
  Box box;
  box.take({registration(7)});
  box.take({registration(8)});
  box.take({signal(1)});
  ASSERT_EQ(box.sent.size(), 1u);
  EXPECT_EQ(box.sent[0].to, Target(RunId(7))) << "the oldest one";
  EXPECT_EQ(box.waiting(), 1u);
}

TEST(mailbox, signals_meet_registrations_in_order) {
  Box box;
  box.take({signal(1), signal(2), signal(3)});
  box.take({registration(7), registration(8)});
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 8}}));
  EXPECT_EQ(box.waiting(), 1u);
}

TEST(mailbox, a_meeting_has_the_same_name_whoever_came_first) {
  Box one;
  one.take({signal(1)});
  one.take({registration(7)});
  Box two;
  two.take({registration(7)});
  two.take({signal(1)});
  EXPECT_EQ(one.sent[0].message.guid, two.sent[0].message.guid);
}

TEST(mailbox, different_meetings_have_different_names) {
  Box box;
  box.take({signal(1), signal(2), registration(7), registration(8)});
  ASSERT_EQ(box.sent.size(), 2u);
  EXPECT_NE(box.sent[0].message.guid, box.sent[1].message.guid);
}

TEST(mailbox, who_comes_and_goes_within_a_bundle_leaves_no_row) {
  Box box;
  EXPECT_EQ(box.take({registration(7), signal(1), taken(1, 7)}), 3u);
  EXPECT_EQ(box.rows_written, 0u);
  EXPECT_EQ(box.consumed, 3u);
  EXPECT_EQ(box.sent.size(), 1u);
  EXPECT_TRUE(box.timers.empty());
}

TEST(mailbox, other_messages_are_acknowledged_without_effect) {
  Box box;
  EXPECT_EQ(box.take({{{Guid{1, 1}, Start{"x"}}, Origin::memory, 0, false}, withdraw(4), taken(5, 6)}), 3u);
  EXPECT_EQ(box.consumed, 3u);
  EXPECT_TRUE(box.state.entries.empty());
}

// Stored identity: these values are in files.
TEST(mailbox, the_name_of_a_signal_from_outside_follows_from_its_id_and_its_mailbox) {
  const MailboxKey to{Namespace("default"), Topic("told"), R"(["a"])"};
  EXPECT_EQ(signal_guid(to, "s-1").text(), "53454347d64219fa39b5307aeff3650d");
  std::set<Guid> all = {signal_guid(to, "s-1"), signal_guid(to, "s-2")};
  all.insert(signal_guid({Namespace("other"), Topic("told"), R"(["a"])"}, "s-1"));
  all.insert(signal_guid({Namespace("default"), Topic("tol"), R"(d["a"])"}, "s-1"));
  all.insert(signal_guid({Namespace("default"), Topic("told"), R"(["a"]s)"}, "-1"));
  EXPECT_EQ(all.size(), 5u);
}

TEST(mailbox, without_deliveries_nothing_is_decided) {
  EXPECT_FALSE(decide(MailboxState{}, std::span<const Delivery>(), DecideOptions{}).bundle);
}

// A page with the first of three signals: the second registration and all later messages wait for the next page.
TEST(mailbox, what_needs_more_than_the_page_has_stays_and_goes_on_later) {
  Box box;
  box.take({pending(1), pending(2), signal(3)});
  MailboxState page = box.state;
  page.entries.resize(1);
  MailboxCut cut;
  cut.signals = true;
  EXPECT_EQ(box.take_of(page, {registration(7), signal(4)}, cut), 0u) << "half served";
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}}));
  EXPECT_EQ(box.take({registration(7), signal(4)}), 2u);
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 7}, {3, 7}}));

  page = box.state;
  page.entries.resize(1);
  cut = {};
  cut.offers = {Guid{7, 2}};
  EXPECT_EQ(box.take_of(page, {withdraw(7), registration(8)}, cut), 0u);
  EXPECT_EQ(box.waiting(), 2u) << "one came back, beside the one that nobody was told of";
  EXPECT_EQ(box.take({withdraw(7), registration(8)}), 2u);
  EXPECT_EQ(box.meetings(), (Meetings{{1, 7}, {2, 7}, {3, 7}, {1, 8}, {2, 8}, {3, 8}}));
}

}  // namespace

}  // namespace pawl::core
