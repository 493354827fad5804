// DuplexDriver: the engine of collation duplex in the test's own thread, one operation at a time, over any store. Its
// workers reply at once: "x" becomes "x,one", then "x,one,two".
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/message.h"
#include "core/test_graph.h"
#include "duplex/engine.h"
#include "pawl/pawl.h"

namespace pawl::testing {

// A trigger and two workers, one after the other.
inline std::shared_ptr<const core::Graph> duplex_chain() {
  auto graph = core::TestGraph("chain")
                   .trigger("t")
                   .worker("one", "one")
                   .after("t")
                   .worker("two", "two")
                   .after("one")
                   .collation(Collation::duplex)
                   .build();
  return std::make_shared<const core::Graph>(std::move(*graph));
}

class DuplexDriver final : private duplex::Events {
 public:
  DuplexDriver(store::DuplexStore& store, core::LaneId lane, core::Epoch epoch)
      : store_(store),
        graph_(duplex_chain()),
        lane_(lane),
        engine_(
            options(epoch), store, clock_, [this](const core::GraphRef&) { return graph_; }, *this) {
    engine_.serve(Topic("one"));
    engine_.serve(Topic("two"));
    engine_.add_slots(2);
    engine_.own({{lane, epoch}});
  }

  void submit(const std::string& id) {
    engine_.submit(
        store::StartDuplex{Namespace("default"), JobId(id), lane_, {GraphName("chain"), 1, 0}, "x", store_.now()}, 1);
  }
  // Until the job has ended and all its messages were acknowledged, or `gives_up` returns true.
  template <class GivesUp>
  void run(const GivesUp& gives_up) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(ended_ && engine_.drained()) && !gives_up()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "it does not end";
      const auto asking = engine_.asking();
      for (const auto step : asking) {
        engine_.settle_read(step, store_.answer(engine_.question(step)));
        if (gives_up()) return;
      }
      work();
      const auto steps = engine_.ready();
      if (steps.empty() && asking.empty()) std::this_thread::sleep_for(std::chrono::microseconds(200));
      for (const auto step : steps) {
        engine_.settle(step, store_.commit_one(engine_.operation(step)));
        if (gives_up()) return;
        work();
      }
    }
  }
  void run() {
    run([] { return false; });
  }
  std::optional<RunId> started() const { return started_; }
  const std::map<std::string, int>& runs() const { return runs_; }  // attempts of workers, by topic

 private:
  void work() {
    for (const auto& request : std::exchange(dispatched_, {})) {
      const std::string topic = request.body.topic.raw();
      ++runs_[topic];
      engine_.answer(request.hand.guid,
                     {core::ReplyStatus::success, 200, Payload(request.body.data.str() + "," + topic)});
    }
  }
  static duplex::EngineOptions options(core::Epoch epoch) {
    duplex::EngineOptions options;
    options.seed = epoch.raw();
    return options;
  }
  void dispatch(const duplex::HeldRequest& request, const core::JobRow&) override { dispatched_.push_back(request); }
  void submitted(duplex::Ticket, Result<duplex::Started> result) override {
    if (result)
      started_ = result->run;
    else if (result.error().code == ErrorCode::retry_later)
      submit("job");  // the submit had no effect
    else
      ADD_FAILURE() << to_string(result.error());
  }
  void replied(duplex::Ticket, Status) override {}
  void answered(duplex::Ticket, Result<duplex::Outcome>) override {}
  void changed(const core::JobRow&, const core::Graph&, const duplex::Change&) override {}
  void ended(RunId) override { ended_ = true; }
  void problem(const std::string&) override {}

  SystemClock clock_;
  store::DuplexStore& store_;
  std::shared_ptr<const core::Graph> graph_;
  const core::LaneId lane_;
  duplex::Engine engine_;
  std::vector<duplex::HeldRequest> dispatched_;
  std::map<std::string, int> runs_;
  std::optional<RunId> started_;
  bool ended_ = false;
};

}  // namespace pawl::testing
