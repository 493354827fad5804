// The graphs of the storm. A payload is text that grows by one part per activity, so that the last one shows the whole
// path: `chain-a-7:x/one/two/three`. The checker has its own model of the results (checker/model.cc); it shares nothing
// with this file.
#pragma once

#include <vector>

#include "pawl/graph.h"
#include "pawl/runtime.h"

namespace pawl::storm {

// Called at the begin and at the end of every attempt, from any worker thread.
class Journal {
 public:
  virtual ~Journal() = default;
  enum class Phase : bool { begin, end };
  virtual void note(const Work& work, Phase phase) = 0;
};

inline constexpr const char* graph_names[] = {"chain", "fan", "pend", "caught", "doomed"};
// Of the app: jobs of the graph language that start, await and signal each other. An input is {"word":"<job id>"}.
inline constexpr const char* app_topics[] = {"tide.await", "tide.call", "tide.leave"};
extern const char* const app_text;

std::vector<Result<AppText>> build_graphs();
// Workers for every topic of those graphs. They take 0 to 5 ms.
Status serve_all(Runtime& runtime, Journal& journal);

}  // namespace pawl::storm
