// Counts and filters for people: exact whatever happened, and found without reading what is not asked for.
#include <algorithm>
#include <map>

#include "store/conformance/conformance.h"
#include "store/lists.h"

namespace pawl::store {

namespace {

class Counts : public StoreTest {
 protected:
  using Status = core::JobStatus;
  RunId submit_of(const std::string& graph, const std::string& id, core::LaneId lane) {
    clock_.advance(std::chrono::seconds(1));
    const core::GraphRef ref{GraphName(graph), 1, 7};
    return commit(Submit{Namespace("default"), JobId(id), lane, ref, "{}", clock_.now()}).run();
  }
  std::map<std::pair<std::string, Status>, std::uint64_t> counts() {
    const auto rows = store_->count_jobs();
    EXPECT_TRUE(rows) << to_string(rows.error());
    std::map<std::pair<std::string, Status>, std::uint64_t> found;
    if (rows)
      for (const JobCount& row : *rows)
        if (row.jobs > 0) found[{row.graph.raw(), row.status}] += row.jobs;
    return found;
  }
  std::vector<std::string> ids(JobQuery query, ListOrder order) {
    std::vector<std::string> found;
    auto list = JobList::begin(*store_, std::move(query), order, "", 3);
    EXPECT_TRUE(list);
    while (list) {
      const auto row = list->next();
      if (!row || !*row) break;
      found.push_back((*row)->id.raw());
    }
    return found;
  }
};
using Ids = std::vector<std::string>;

TEST_P(Counts, follow_every_change_of_a_job) {
  EXPECT_TRUE(counts().empty());
  const RunId a = submit_of("g", "a", lane_);
  const RunId b = submit_of("g", "b", other_lane_);
  const RunId c = submit_of("h", "c", lane_);
  EXPECT_EQ(counts(), (decltype(counts()){{{"g", Status::running}, 2}, {{"h", Status::running}, 1}}));
  end(a);
  close(b, Status::failed);
  EXPECT_EQ(counts(), (decltype(counts()){
                          {{"g", Status::completed}, 1}, {{"g", Status::failed}, 1}, {{"h", Status::running}, 1}}));
  ASSERT_EQ(kind_of(RemoveJob{a, Instant()}), OutcomeKind::committed);
  close(c, Status::interrupted);
  EXPECT_EQ(counts(), (decltype(counts()){{{"g", Status::failed}, 1}, {{"h", Status::interrupted}, 1}}));
}

TEST_P(Counts, of_work_tell_what_waits_from_what_is_taken) {
  const RunId run = submit("a");
  enqueue(run, 3, "mail");
  const RunId other = submit_to(other_lane_, "b");
  enqueue(other, 1, "pay");
  ASSERT_EQ(claim(1, "mail").size(), 1u);
  clock_.advance(std::chrono::seconds(5));
  const auto rows = store_->count_work(store_->now());
  ASSERT_TRUE(rows) << to_string(rows.error());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].topic, Topic("mail"));
  EXPECT_EQ((*rows)[0].ready, 2u);
  EXPECT_EQ((*rows)[0].taken, 1u);
  EXPECT_EQ((*rows)[1].topic, Topic("pay"));
  EXPECT_EQ((*rows)[1].ready, 1u);
  EXPECT_EQ((*rows)[1].taken, 0u);
  EXPECT_EQ((*rows)[1].later + (*rows)[1].held, 0u);
}

TEST_P(Counts, of_work_know_what_is_held_and_what_waits_for_its_time) {
  const RunId run = submit("a");
  core::WorkItem later = work_item(run, 0, "mail");
  later.visible_at = store_->now() + std::chrono::hours(1);
  enqueue_item(run, later);
  core::WorkItem held = work_item(run, 1, "mail");
  held.held = true;
  enqueue_item(run, held);
  const auto rows = store_->count_work(store_->now());
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].ready, 0u);
  EXPECT_EQ((*rows)[0].since, Instant());
  EXPECT_EQ((*rows)[0].later, 1u);
  EXPECT_EQ((*rows)[0].held, 1u);
}

TEST_P(Counts, lists_take_several_states_and_a_graph) {
  std::vector<RunId> runs;
  for (int i = 0; i < 12; ++i)
    runs.push_back(submit_of(i % 3 == 0 ? "g" : "h", format("{}", i), i % 2 == 0 ? lane_ : other_lane_));
  for (const int i : {0, 1, 4, 6}) close(runs[static_cast<std::size_t>(i)], Status::failed);
  for (const int i : {3, 5}) close(runs[static_cast<std::size_t>(i)], Status::interrupted);
  JobQuery query;
  query.statuses = {Status::failed, Status::interrupted};
  EXPECT_EQ(ids(query, ListOrder::oldest_first), (Ids{"0", "1", "3", "4", "5", "6"}));
  EXPECT_EQ(ids(query, ListOrder::newest_first), (Ids{"6", "5", "4", "3", "1", "0"}));
  query.filter.graph = GraphName("g");
  EXPECT_EQ(ids(query, ListOrder::oldest_first), (Ids{"0", "3", "6"}));
  query.statuses.clear();
  EXPECT_EQ(ids(query, ListOrder::newest_first), (Ids{"9", "6", "3", "0"}));
}

TEST_P(Counts, lists_begin_near_the_time_that_is_asked_for) {
  std::vector<Instant> times;
  for (int i = 0; i < 20; ++i) {
    submit_of("g", format("{}", i), i % 2 == 0 ? lane_ : other_lane_);
    times.push_back(clock_.now());
  }
  JobQuery query;
  query.since = times[15];
  EXPECT_EQ(ids(query, ListOrder::oldest_first), (Ids{"15", "16", "17", "18", "19"}));
  query.since = Instant();
  query.until = times[3];
  const Ids down = ids(query, ListOrder::newest_first);
  EXPECT_EQ(down.back(), "0");
  EXPECT_LE(down.size(), 6u) << "what is newer is not read";
}

// A store may find more than what these two ask for, and never less.
TEST_P(Counts, narrower_searches_leave_out_no_job) {
  std::vector<Instant> ends;
  std::vector<RunId> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(submit_of("g", format("{}", i), i % 2 == 0 ? lane_ : other_lane_));
    close(runs.back(), i == 4 ? Status::failed : Status::completed);
    const auto row = store_->read_job(runs.back());
    ASSERT_TRUE(row && *row);
    ends.push_back((*row)->state.job.closed_at);
  }
  const auto has = [](const Ids& found, const std::string& id) {
    return std::find(found.begin(), found.end(), id) != found.end();
  };
  JobQuery query;
  query.filter.ended_since = ends[2];
  query.filter.ended_until = ends[4];
  for (const ListOrder order : {ListOrder::oldest_first, ListOrder::newest_first}) {
    const Ids found = ids(query, order);
    EXPECT_TRUE(has(found, "2") && has(found, "3"));
  }
  JobQuery errored;
  errored.completed_errored_only = true;
  EXPECT_TRUE(has(ids(errored, ListOrder::newest_first), "4")) << "it failed";
}

TEST_P(Counts, rows_without_data_have_everything_else) {
  const RunId run = submit("a");
  end(run);
  ListQuery query;
  query.names_only = true;
  const auto rows = store_->list_jobs(query);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_TRUE(rows->front().result.empty());
  EXPECT_TRUE(rows->front().data.empty());
  EXPECT_EQ(rows->front().status, Status::completed);
  EXPECT_EQ(rows->front().id, JobId("a"));
}

TEST_P(Counts, engines_are_read_while_they_live) {
  BeatEngine beat{Pool("graphs"), "one", std::chrono::seconds(10)};
  beat.serves = {Topic("mail")};
  ASSERT_EQ(kind_of(beat), OutcomeKind::committed);
  const auto alive = store_->read_engines(Pool("graphs"), store_->now());
  ASSERT_TRUE(alive) << to_string(alive.error());
  ASSERT_EQ(alive->size(), 1u);
  EXPECT_EQ(alive->front().name, "one");
  EXPECT_EQ(alive->front().serves, std::vector<Topic>{Topic("mail")});
  const auto later = store_->read_engines(Pool("graphs"), store_->now() + std::chrono::seconds(11));
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->empty());
}

INSTANTIATE_TEST_SUITE_P(store, Counts, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
