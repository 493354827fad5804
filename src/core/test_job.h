// For tests of decide(): one job, its inbox and its deliveries, driven by the real check() and apply(), with a crash
// whenever the test wants one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.h"
#include "core/apply.h"
#include "core/decide.h"
#include "core/secret.h"
#include "core/test_graph.h"

namespace pawl::core {

class TestJob {
 public:
  explicit TestJob(Graph graph, Fusion fusion = Fusion::on, std::int64_t threshold = 0)
      : graph_(std::move(graph)), fusion_(fusion) {
    state.job.run = RunId(42);
    state.job.threshold = threshold;
    const Message message = start_message(state.job.run, "input");
    inbox.push_back({message, 0});
    queue.push_back({message, Origin::memory, 0, false});
  }

  // One commit, or nothing left to do.
  bool step() {
    DecideOptions options{Instant::from_micros(now + static_cast<std::int64_t>(commits.size())), fusion_};
    options.id = BundleId(commits.size() + 1);
    const Decision decision = decide(state, graph_, queue, options);
    for (const std::size_t index : decision.entered) queue[index].entered = true;
    if (decision.bundle) take(*decision.bundle);
    for (std::size_t i = queue.size(); i-- > 0;)
      for (const std::size_t done : decision.done)
        if (done == i) queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
    for (const Message& message : handed_over_) queue.push_back({message, Origin::memory, 0, false});
    handed_over_.clear();
    return decision.bundle.has_value();
  }
  int run() {
    int count = 0;
    while (step()) ++count;
    return count;
  }

  // The engine crashes: what was in memory is gone, what was stored is loaded.
  void crash() {
    queue.clear();
    for (const InboxMessage& one : inbox) queue.push_back({one.message, Origin::loaded, one.redeliveries, false});
  }

  // A worker takes the item, as a claim would.
  WorkItem claim(std::uint32_t activity) {
    WorkItem item = *state.find_work(ActivitySeq(activity));
    begin_run(item, "worker", Epoch(1), Instant(), Instant::from_micros(now));
    state.put(item);
    return item;
  }
  static Message answer(const WorkItem& item, ReplyStatus status, std::int32_t code = 200, std::uint64_t index = 0,
                        Payload data = "output") {
    const auto purpose =
        status == ReplyStatus::pending ? Guid::Purpose::response_pending : Guid::Purpose::response_final;
    return {item.request.derive(purpose, index), Reply{item.activity, status, code, item.token, std::move(data)}};
  }
  // Straight from a local worker.
  void deliver_local(Message message) { queue.push_back({std::move(message), Origin::unstored, 0, false}); }
  // Through the inbox, like a remote worker's reply: the store removes the work item when the reply is a success.
  void deliver_remote(const Message& message) {
    if (const auto* reply = std::get_if<Reply>(&message.body); reply->status == ReplyStatus::success)
      state.drop_work(reply->activity);
    deliver_stored(message);
  }
  void deliver_stored(const Message& message) {
    inbox.push_back({message, 0});
    queue.push_back({message, Origin::memory, 0, false});
  }
  // The whole life of one activity, by a local worker.
  void work(std::uint32_t activity, ReplyStatus status = ReplyStatus::success, std::int32_t code = 200) {
    deliver_local(answer(claim(activity), status, code));
    run();
  }

  std::string ledger(std::uint32_t activity) const { return state.find(ActivitySeq(activity))->ledger.digits(); }
  std::string ledger(const Guid& message) const {
    const MessageRecord* record = state.find_message(message);
    return record == nullptr ? "none" : record->ledger.digits();
  }
  template <class W>
  int writes_of_last() const {
    int count = 0;
    for (const Write& write : commits.back().writes) count += std::holds_alternative<W>(write) ? 1 : 0;
    return count;
  }

  // A person's request, through the inbox; each request has a different name.
  void ask(Body body) { deliver_stored({Guid{77, ++asked_}, std::move(body)}); }

  JobState state;
  std::int64_t now = 1000;  // of the next commits
  std::vector<InboxMessage> inbox;
  std::vector<Delivery> queue;
  std::vector<Bundle> commits;

 private:
  void take(const Bundle& bundle) {
    const auto checked = check(state, bundle);
    ASSERT_TRUE(checked) << checked.error().detail;
    apply(state, bundle);
    for (const Write& write : bundle.writes) {
      if (const auto* put = std::get_if<PutMessage>(&write)) {
        inbox.push_back({put->message, 0});
        handed_over_.push_back(put->message);
      } else if (const auto* consume = std::get_if<Consume>(&write)) {
        std::erase_if(inbox, [&](const InboxMessage& one) { return one.message.guid == consume->guid; });
      } else if (const auto* count = std::get_if<CountRedelivery>(&write)) {
        for (InboxMessage& one : inbox)
          if (one.message.guid == count->guid) one.redeliveries += 1;
      } else if (const auto* sweep = std::get_if<Sweep>(&write)) {
        std::erase_if(inbox, [&](const InboxMessage& one) { return one.message.guid != sweep->keep; });
      }
    }
    commits.push_back(bundle);
  }

  Graph graph_;
  Fusion fusion_;
  std::vector<Message> handed_over_;
  std::uint64_t asked_ = 0;
};

// trigger -> work
inline Graph one_worker() { return *TestGraph("g").trigger("t").worker("work", "topic").after("t").build(); }
// trigger -> work -> catch on error
inline Graph one_catcher() {
  return *TestGraph("g")
              .trigger("t")
              .worker("work", "topic")
              .after("t")
              .worker("catch", "topic")
              .after("work", Condition::error())
              .build();
}
// trigger -> a, b in parallel
inline Graph two_workers() {
  return *TestGraph("g").trigger("t").worker("a", "topic").after("t").worker("b", "topic").after("t").build();
}

}  // namespace pawl::core
