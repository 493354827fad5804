// How many: jobs by graph and status, work by topic; which engines are alive.
#include <algorithm>
#include <map>

#include "store/redis/limits.h"
#include "store/redis/reader.h"
#include "store/topic_tally.h"

namespace pawl::store::redis {

namespace {

constexpr core::JobStatus all_statuses[] = {core::JobStatus::running, core::JobStatus::completed,
                                            core::JobStatus::failed,  core::JobStatus::interrupted,
                                            core::JobStatus::parked,  core::JobStatus::paused};

}  // namespace

// `jobs` is by status and run: how many have a status is known at once, of which graph they are is not. So the rows are
// read, page by page.
Result<std::vector<JobCount>> Reader::count_jobs() {
  std::map<std::pair<GraphName, core::JobStatus>, std::uint64_t> counts;
  for (const core::JobStatus status : all_statuses) {
    ListQuery query;
    query.status = status;
    query.names_only = true;
    query.rows_max = pawl::limits::recovery_page_rows;
    for (;;) {
      const auto page = list_jobs(query);
      if (!page) return page.error();
      for (const core::JobRow& row : *page) ++counts[{row.graph.name, status}];
      if (page->size() < query.rows_max) break;
      query.after = page->back().run;
    }
  }
  std::vector<JobCount> rows;
  for (const auto& [of, jobs] : counts) rows.push_back({of.first, of.second, jobs});
  return rows;
}

// An item does not say when its activity was opened. The first one of each topic and lane that is ready waits longest,
// and its job says since when.
Result<std::vector<TopicWork>> Reader::count_work(Instant now) {
  const auto ends = read_lane_ends();
  if (!ends) return ends.error();
  TopicTally tally(now);
  for (const LaneEnd& lane : *ends) {
    std::map<Topic, Instant> since;
    WorkCursor after;
    for (;;) {
      const auto page = read_work(lane.lane, after, pawl::limits::recovery_page_rows);
      if (!page) return page.error();
      if (page->empty()) break;
      for (const core::WorkItem& item : *page) {
        const bool is_first = TopicTally::is_ready(item, now) && !since.contains(item.topic);
        if (is_first) {
          const auto job = read_job(item.run);
          const core::Activity* activity = job && *job ? (*job)->state.find(item.activity) : nullptr;
          since.emplace(item.topic, activity == nullptr ? now : activity->opened_at);
        }
        const auto known = since.find(item.topic);
        tally.add(item, known == since.end() ? now : known->second);
      }
      after = {page->back().run, page->back().activity};
    }
  }
  return std::move(tally).rows();
}

Result<std::vector<EngineInfo>> Reader::read_engines(const Pool& pool, Instant now) {
  const auto reply = ask_catalogue({"HGETALL", keys_.engines(pool)});
  if (!reply) return reply.error();
  std::vector<EngineInfo> alive;
  for (std::size_t i = 0; i + 1 < reply->list.size(); i += 2) {
    auto engine = read_engine((*reply)[i].text, (*reply)[i + 1].text);
    if (!engine) return engine.error();
    if (engine->until > now) alive.push_back(std::move(*engine));
  }
  std::sort(alive.begin(), alive.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return alive;
}

}  // namespace pawl::store::redis
