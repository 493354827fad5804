#include "runtime/obstacles.h"

#include <algorithm>
#include <chrono>

#include "base/format.h"
#include "runtime/unserved_topics.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

// Work that any worker could take, if there were one.
bool waits_for_a_worker(const core::WorkItem& item, Instant now) {
  return item.token == core::WorkToken(0) && !item.held && item.visible_at <= now;
}

std::string unserved(const Topic& topic, const ActivityName& activity, Duration since) {
  return format("{} waits: nobody has taken its work of topic {} for {} s. Serve the topic", activity.raw(),
                topic.raw(), std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

}  // namespace

std::vector<std::string> obstacles_of(const core::JobRow& job, const Graph* graph, std::size_t messages) {
  if (job.status != core::JobStatus::running || graph != nullptr) return {};
  return {
      format("graph {} version {} is not deployed here with the content that the job started on: it waits until it "
             "is{}",
             job.graph.name.raw(), job.graph.version,
             messages > 0 ? format(" ({} messages wait for it)", messages) : std::string())};
}

std::vector<std::string> obstacles_of(const store::StoredJob& stored, const Surroundings& here) {
  std::vector<std::string> obstacles;
  if (stored.state.job.status != core::JobStatus::running) return obstacles;
  // A process that only reads has no graphs. It reports this if something waits that could not be served.
  if (here.runs || !stored.inbox.empty()) obstacles = obstacles_of(stored.state.job, here.graph, stored.inbox.size());
  std::vector<std::string> paused;
  bool asked = false;
  for (const auto& [seq, item] : stored.state.work()) {
    if (!waits_for_a_worker(item, here.now)) continue;
    if (!asked) {
      asked = true;
      if (auto topics = here.paused_topics()) paused = std::move(*topics);
    }
    const core::Activity* activity = stored.state.find(seq);
    if (activity == nullptr) continue;
    const ActivityName name = name_in(here.graph, activity->node);
    const Duration since = here.now - std::max(activity->opened_at, item.visible_at);
    if (std::find(paused.begin(), paused.end(), item.topic.raw()) != paused.end())
      obstacles.push_back(format("{} waits: topic {} is paused", name.raw(), item.topic.raw()));
    else if (!here.serves(item.topic) && since >= limits::unserved_after)
      obstacles.push_back(unserved(item.topic, name, since));
  }
  return obstacles;
}

}  // namespace pawl::runtime
