// For tests of the workshop: parts that own a lane and serve a topic, with graphs whose work is handed out.
#pragma once

#include "runtime/rooms_bench.h"

namespace pawl::runtime {

class WorkshopBench : public ::testing::Test {
 protected:
  explicit WorkshopBench(EngineOptions options = {}) : bench_(std::move(options)) {
    using std::chrono::seconds;
    bench_.deploy(GraphBuilder("step").trigger("t").worker("a", "work").after("t"));
    bench_.deploy(GraphBuilder("pair").trigger("t").worker("a", "work").after("t").worker("b", "work").after("t"));
    bench_.deploy(GraphBuilder("once").trigger("t").worker("a", "work").after("t").at_most_once());
    bench_.deploy(
        GraphBuilder("timed").trigger("t").worker("a", "work").after("t").timeouts(Timeouts().attempt(seconds(5))));
    bench_.own(RoomsBench::one);
    workshop_.serve(Topic("work"));
    bench_.turn();
  }
  // A job whose work was handed out.
  core::WorkItem begin(const std::string& graph) {
    bench_.submit(graph);
    bench_.settle_all();
    return next();
  }
  // The item that was handed out first.
  core::WorkItem next() {
    EXPECT_FALSE(events_.work.empty()) << "no work was handed out";
    if (events_.work.empty()) return {};
    core::WorkItem item = events_.work.front();
    events_.work.pop_front();
    return item;
  }
  void pause(bool paused) { bench_.commit(store::PauseTopic{Topic("work"), paused}); }

  RoomsBench bench_;
  Workshop& workshop_ = bench_.parts.workshop;
  Recorder& events_ = bench_.events;
};

}  // namespace pawl::runtime
