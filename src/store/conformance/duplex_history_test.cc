// The same random history of duplex operations on every store and on the memory store: the same answers, the same
// reads.
#include <map>
#include <set>

#include "base/invariant.h"
#include "store/conformance/conformance.h"
#include "store/memory/store.h"

namespace pawl::store {

namespace {

constexpr int steps_per_duplex_history = 700;
constexpr int steps_between_duplex_reads = 25;
constexpr Duration claim_lease = std::chrono::seconds(3);

std::vector<Seed> duplex_seeds() { return history_seeds(5); }

// Plays one step after the other. Runs are named by their number in the history.
class DuplexHistory {
 public:
  DuplexHistory(DuplexStore& store, ManualClock& clock, core::LaneId lane, std::uint64_t seed)
      : store_(store), clock_(clock), lane_(lane), random_(seed) {}

  std::string step() {
    if (random_.one_in(8)) clock_.advance(std::chrono::milliseconds(random_.below(2500)));
    if (random_.one_in(200)) ++epoch_;
    const DuplexOperation operation = draw();
    const auto outcome = store_.commit_one(operation);
    if (!outcome) return to_string(outcome.error());
    note(operation, *outcome);
    return format("op {} -> {} {}", operation.index(), name_of(outcome->kind), describe(outcome->answer));
  }

  std::string read_back() {
    std::string text;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const auto job = store_.read(runs_[i]);
      if (!job || !*job) return "unreadable";
      text += format("#{} {} open {}", i, core::name_of((*job)->job.status), (*job)->job.semaphore);
      for (const DuplexCell& cell : (*job)->cells)
        text += format(" [{} {} {}]", cell.place.node, cell.value, cell.code);
      for (const Place& place : (*job)->open) text += format(" open {}", place.node);
      for (const ClaimedMessage& waiting : (*job)->stream) text += describe(waiting);
      text += '\n';
    }
    return text;
  }

 private:
  RunId draw_run() { return runs_[std::max(random_.below(runs_.size()), random_.below(runs_.size()))]; }
  core::Guid draw_guid() { return core::Guid{1, random_.below(30)}; }
  Place draw_place() { return Place{static_cast<std::uint32_t>(random_.below(4)), *ledger::Dimensions::parse(",0,0")}; }
  Topic draw_topic() { return Topic(random_.one_in(2) ? "" : "red"); }
  ClaimId draw_claim() {  // mostly one of the last
    const std::uint64_t back = random_.below(4);
    return ClaimId(claims_ > back ? claims_ - back : claims_ + 1);
  }

  DuplexOperation draw() {
    if (runs_.empty() || random_.one_in(60)) {
      const JobId id(format("job-{}", random_.below(60)));
      return StartDuplex{Namespace("default"), id, lane_, {GraphName("g"), 1, 7}, "in", clock_.now()};
    }
    const RunId run = draw_run();
    switch (random_.below(16)) {
      case 0:
        return SetCell{run, draw_place(), 999000000000000, clock_.now()};
      case 1:
        return AddToCell{run, draw_place(), -1, core::Guid{1, random_.below(8)}};
      case 2:
        return NameCloser{
            run,          draw_place(), core::Guid{1, random_.below(2)}, core::ActivityStatus::completed, 200,
            clock_.now(), "out"};
      case 3:
        return OpenAddress{run, draw_place()};
      case 4:
        return CloseAddress{run, draw_place()};
      case 5:
      case 6:
      case 7: {
        const Topic topic = draw_topic();
        const std::string data(random_.below(40), 'x');
        stream::Body body = stream::Transition{draw_place(), data};
        if (!topic.raw().empty()) body = stream::Request{draw_place(), topic, data};
        return Enqueue{{run, draw_guid(), std::move(body)}, random_.one_in(3)};
      }
      case 8:
      case 9:
      case 10: {
        // Sometimes an earlier epoch, or a repeated claim.
        const std::uint64_t epoch = random_.one_in(10) && epoch_ > 1 ? epoch_ - 1 : epoch_;
        const ClaimId claim = random_.one_in(6) ? draw_claim() : ClaimId(++claims_);
        Dequeue dequeue{lane_, draw_topic(), 1 + random_.below(4), claim, core::Epoch(epoch), claim_lease};
        if (random_.one_in(2)) dequeue.bytes_max = random_.below(80);
        return dequeue;
      }
      case 11:
      case 12:
      case 13: {
        const auto [of, guid] = draw_held();
        return Ack{of, guid, draw_claim()};
      }
      case 14: {
        const auto [of, guid] = draw_held();
        return GiveBack{of, guid, draw_claim(), std::chrono::milliseconds(random_.below(3000))};
      }
      default:
        break;
    }
    if (!random_.one_in(6)) return SetCell{run, draw_place(), 1, clock_.now()};
    if (random_.one_in(3)) return ParkDuplex{run, "why"};
    return EndDuplex{run, core::JobStatus::completed, "result", "", clock_.now(), draw_guid()};
  }
  std::pair<RunId, core::Guid> draw_held() {
    if (held_.empty()) return {draw_run(), draw_guid()};
    return held_[std::max(random_.below(held_.size()), random_.below(held_.size()))];
  }

  void note(const DuplexOperation& operation, const DuplexOutcome& outcome) {
    if (std::holds_alternative<StartDuplex>(operation) && outcome.kind == OutcomeKind::committed) {
      numbers_[outcome.run()] = runs_.size();
      runs_.push_back(outcome.run());
    }
    if (const auto* handed = std::get_if<Handed>(&outcome.answer))
      for (const ClaimedMessage& claimed : handed->messages)
        held_.emplace_back(claimed.message.run, claimed.message.guid);
    if (held_.size() > 20) held_.erase(held_.begin(), held_.end() - 20);
  }

  std::string describe(const ClaimedMessage& claimed) const {
    const core::Guid& guid = claimed.message.guid;
    const Payload* data = payload_of(claimed.message.body);
    return format(" <{} {} kind {} '{}' by {} x{} back {}>", numbers_.at(claimed.message.run),
                  guid.high == 1 ? guid.low : 0, claimed.message.body.index(), data->view(), claimed.claim.raw(),
                  claimed.deliveries, claimed.given_back);
  }
  std::string describe(const decltype(DuplexOutcome::answer)& answer) const {
    return std::visit(
        Overloaded{
            [](const std::monostate&) { return std::string(); },
            [&](const Started& started) { return format("run {}", numbers_.at(started.run)); },
            [](const CellHolds& cell) { return format("value {}", cell.value); },
            [](const Obligations& left) { return std::string(left.none_left ? "none left" : "some left"); },
            [&](const Handed& handed) {
              std::string text = format("next {}", handed.next_free ? handed.next_free->micros() : -1);
              for (const ClaimedMessage& claimed : handed.messages) text += describe(claimed);
              return text;
            },
        },
        answer);
  }

  DuplexStore& store_;
  ManualClock& clock_;
  const core::LaneId lane_;
  Random random_;
  std::uint64_t epoch_ = 1;
  std::uint64_t claims_ = 0;
  std::vector<RunId> runs_;
  std::map<RunId, std::size_t> numbers_;
  std::vector<std::pair<RunId, core::Guid>> held_;
};

class DuplexHistories : public StoreCaseTest<Seed> {};

TEST_P(DuplexHistories, are_the_same_on_every_store) {
  ManualClock other_clock;
  memory::Store reference(other_clock);
  const Operation open = OpenPool{Pool("graphs"), 2};
  ASSERT_TRUE(reference.commit({&open, 1}));
  DuplexHistory expected(reference.duplex(), other_clock, core::LaneId(1), scenario().value);
  DuplexHistory played(*duplex_, clock_, lane_, scenario().value);
  for (int step = 0; step < steps_per_duplex_history; ++step) {
    const std::string line = expected.step();
    ASSERT_EQ(line, played.step()) << "step " << step << " of " << scenario().name;
    if (step % steps_between_duplex_reads == 0) {
      ASSERT_EQ(expected.read_back(), played.read_back()) << "step " << step << " of " << scenario().name;
    }
  }
  EXPECT_EQ(expected.read_back(), played.read_back());
}

// Histories in which nothing was repeated, claimed or refused would compare nothing.
TEST(DuplexHistory, has_every_operation_in_it_done_and_repeated) {
  std::set<std::string> seen;
  for (const Seed& seed : duplex_seeds()) {
    ManualClock clock;
    memory::Store store(clock);
    const Operation open = OpenPool{Pool("graphs"), 2};
    ASSERT_TRUE(store.commit({&open, 1}));
    DuplexHistory history(store.duplex(), clock, core::LaneId(1), seed.value);
    for (int step = 0; step < steps_per_duplex_history; ++step) {
      const std::string line = history.step();
      seen.insert(line.substr(0, line.find(' ', line.find("-> ") + 3)));
    }
  }
  for (std::size_t kind = 0; kind < std::variant_size_v<DuplexOperation>; ++kind) {
    EXPECT_TRUE(seen.contains(format("op {} -> committed", kind))) << kind;
    EXPECT_TRUE(seen.contains(format("op {} -> {}", kind, kind == 0 ? "exists" : "already_done"))) << kind;
  }
  for (const std::size_t refused : {5, 8, 9})
    EXPECT_TRUE(seen.contains(format("op {} -> conflict", refused))) << refused;
}

INSTANTIATE_TEST_SUITE_P(stores, DuplexHistories,
                         testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(duplex_seeds())),
                         store_case_name<Seed>);

}  // namespace

}  // namespace pawl::store
