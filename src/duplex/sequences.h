// Sequences: the lettered sequences, one coroutine per kind of message (docs/LEDGER.md, "Duplex state";
// docs/decisions/060-duplex-applier.md). Each co_await of an Ask is one commit and one place to crash.
//
// What keeps them right when two consumers have the same message, or one returns after a crash:
// 1. Every operation is named after its cause, so the second one changes nothing and gets the same answer.
// 2. Obligations are opened before children are set, children are set before they are enqueued, and an activity closes
//    its own obligation last. So an empty set means, for every reader, that nothing is under way.
// 3. A final response waits until the pending ones before it are served: the exits in the state show this.
// 4. Only the named closer adds the closing number, and the named closer finishes what follows from it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "duplex/events.h"
#include "duplex/letters.h"
#include "duplex/sequence.h"
#include "store/duplex_store.h"

namespace pawl::duplex {

// The graph that a job is pinned to; none when this process does not have it.
using FindGraph = std::function<std::shared_ptr<const Graph>(const core::GraphRef& ref)>;

class Sequences {
 public:
  // The references must outlive every sequence.
  Sequences(store::DuplexStore& store, FindGraph find_graph, Events& events)
      : store_(store), find_graph_(std::move(find_graph)), events_(events) {}

  Sequence start(Hand hand, stream::Start message);      // B E C F (A made the message)
  Sequence leg1(Hand hand, stream::Transition message);  // a c d e f
  Sequence worker(HeldRequest request);                  // g h, then X: Events::dispatch
  Sequence leg2(Hand hand, stream::Reply message);       // l m n o q s | l m n o p q r s | l m p r s
  Sequence cleanup(Hand hand, stream::Cleanup message);  // the job's end
  Sequence stop_job(RunId run, std::string reason);      // parks it

  // j, then k: the reply of a worker that holds its request. After a pending reply the worker keeps the request.
  Sequence answer(Hand request, StreamMessage reply);
  // k before j: the worker will reply later, from any process.
  Sequence defer(Hand request);
  // No worker began it, or its worker left it: free again after this time.
  Sequence release(Hand request, Duration after = Duration{0});

 private:
  // The job's row and the message's activity, with the graph.
  struct Scene {
    core::JobRow job;
    std::optional<store::DuplexCell> cell;
    std::shared_ptr<const Graph> graph;
  };
  struct Looked {
    std::optional<Scene> scene;  // none: not now, and the reason was reported; or never
    std::string damaged;         // the part that no store can have written: then never
  };
  Looked scene_of(const Viewed& view);
  void tell(const Scene& scene, const Outcome& outcome, Change change);

  std::vector<core::GraphRef> not_deployed_;  // jobs wait for these; each was reported once
  const store::DuplexStore& store_;           // only for its clock; reads go through a Look
  FindGraph find_graph_;
  Events& events_;
};

}  // namespace pawl::duplex
