// Reads: recovery pages that cover everything exactly once, and listings.
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

struct Page {
  std::string name;
  std::size_t rows;
};
const std::vector<Page> pages = {{"of_1", 1}, {"of_2", 2}, {"of_7", 7}, {"of_20", 20}, {"of_1000", 1000}};

class Pages : public StoreCaseTest<Page> {
 protected:
  // Twenty jobs over two lanes; every third has nothing to do.
  void fill() {
    for (std::uint32_t i = 0; i < 20; ++i) {
      const RunId run = submit_to(i % 2 == 0 ? lane_ : other_lane_, format("job-{}", i), i % 4 < 2 ? "one" : "two");
      all_.insert(run);
      enqueue(run, i % 3);
      for (std::uint32_t seq = 0; seq < i % 3; ++seq) work_.insert({run, core::ActivitySeq(seq)});
      if (i % 3 == 0) {
        const core::Guid start = job(run).inbox.front().message.guid;
        ASSERT_EQ(kind_of(bundle_with(run, {core::Consume{start}})), OutcomeKind::committed);
      } else {
        waiting_.insert(run);
      }
    }
    const core::MailboxKey key{Namespace("one"), Topic("t"), "k"};
    box_ = commit(to_mailbox(key, {guid(1), core::Signal{}}, lane_)).run();
    waiting_.insert(box_);
  }

  std::set<RunId> all_;
  std::set<RunId> waiting_;
  std::set<std::pair<RunId, core::ActivitySeq>> work_;
  RunId box_{0};
};

TEST_P(Pages, of_waiting_entities_cover_each_once_and_in_order) {
  fill();
  std::set<RunId> seen;
  for (const core::LaneId lane : {lane_, other_lane_}) {
    RunId after{0};
    for (;;) {
      const auto page = store_->read_waiting(lane, after, scenario().rows);
      ASSERT_TRUE(page);
      ASSERT_LE(page->size(), scenario().rows);
      for (const Waiting& row : *page) {
        EXPECT_GT(row.run, after);
        EXPECT_EQ(core::lane_of(row.run), lane);
        EXPECT_EQ(row.kind, row.run == box_ ? EntityKind::mailbox : EntityKind::job);
        EXPECT_TRUE(seen.insert(row.run).second);
        after = row.run;
      }
      if (page->size() < scenario().rows) break;
    }
  }
  EXPECT_EQ(seen, waiting_);
}

TEST_P(Pages, of_work_items_cover_each_once_and_in_order) {
  fill();
  std::set<std::pair<RunId, core::ActivitySeq>> seen;
  for (const core::LaneId lane : {lane_, other_lane_}) {
    WorkCursor after;
    for (;;) {
      const auto page = store_->read_work(lane, after, scenario().rows);
      ASSERT_TRUE(page);
      ASSERT_LE(page->size(), scenario().rows);
      for (const core::WorkItem& item : *page) {
        EXPECT_GT(std::make_pair(item.run, item.activity), std::make_pair(after.run, after.activity));
        EXPECT_EQ(item, work_item(item.run, item.activity.raw()));
        EXPECT_TRUE(seen.insert({item.run, item.activity}).second);
        after = {item.run, item.activity};
      }
      if (page->size() < scenario().rows) break;
    }
  }
  EXPECT_EQ(seen, work_);
}

TEST_P(Pages, of_places_of_work_name_the_same_items) {
  fill();
  std::set<std::pair<RunId, core::ActivitySeq>> seen;
  for (const core::LaneId lane : {lane_, other_lane_}) {
    WorkCursor after;
    for (;;) {
      const auto page = store_->read_work_places(lane, after, scenario().rows);
      ASSERT_TRUE(page);
      ASSERT_LE(page->size(), scenario().rows);
      EXPECT_TRUE(page->damaged.empty());
      for (const WorkPlace& place : *page) {
        EXPECT_EQ(place.topic, work_item(place.run, place.activity.raw()).topic);
        EXPECT_TRUE(seen.insert({place.run, place.activity}).second);
        after = {place.run, place.activity};
      }
      if (page->size() < scenario().rows) break;
    }
  }
  EXPECT_EQ(seen, work_);
}

TEST_P(Pages, of_jobs_cover_each_once_and_in_order) {
  fill();
  std::set<RunId> seen;
  ListQuery query;
  query.rows_max = scenario().rows;
  for (;;) {
    const auto page = store_->list_jobs(query);
    ASSERT_TRUE(page);
    ASSERT_LE(page->size(), scenario().rows);
    for (const core::JobRow& row : *page) {
      EXPECT_GT(row.run, query.after);
      EXPECT_EQ(row, job(row.run).state.job);
      EXPECT_TRUE(seen.insert(row.run).second);
      query.after = row.run;
    }
    if (page->size() < scenario().rows) break;
  }
  EXPECT_EQ(seen, all_);
}

TEST_P(Pages, of_jobs_of_one_namespace_and_status_skip_the_others) {
  fill();
  std::set<RunId> expected;
  for (const RunId run : all_) {
    const core::JobRow row = job(run).state.job;
    if (row.name_space != Namespace("two")) continue;
    if (expected.size() % 2 == 0) close(run, core::JobStatus::failed);
    expected.insert(run);
  }
  for (const auto status : {core::JobStatus::failed, core::JobStatus::running, core::JobStatus::parked}) {
    std::set<RunId> seen;
    ListQuery query{Namespace("two"), status, RunId(0), scenario().rows};
    for (;;) {
      const auto page = store_->list_jobs(query);
      ASSERT_TRUE(page);
      for (const core::JobRow& row : *page) {
        EXPECT_EQ(row.status, status);
        EXPECT_TRUE(expected.contains(row.run));
        EXPECT_TRUE(seen.insert(row.run).second);
        query.after = row.run;
      }
      if (page->size() < scenario().rows) break;
    }
    EXPECT_EQ(seen.size(), status == core::JobStatus::parked ? 0 : expected.size() / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(stores, Pages, testing::Combine(testing::ValuesIn(all_stores()), testing::ValuesIn(pages)),
                         store_case_name<Page>);

class Reads : public StoreTest {};

TEST_P(Reads, what_does_not_exist_is_absent_not_an_error) {
  EXPECT_FALSE(store_->read_job(core::make_run(lane_, 99))->has_value());
  EXPECT_FALSE(store_->read_mailbox(core::make_run(lane_, 99))->has_value());
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
  EXPECT_TRUE(store_->read_work(lane_, {}, 10)->empty());
  EXPECT_TRUE(store_->read_outbox(lane_, 10)->empty());
  EXPECT_TRUE(store_->list_jobs({})->empty());
}

TEST_P(Reads, the_row_of_a_job_is_its_row_without_what_may_be_large_while_it_runs) {
  EXPECT_FALSE(store_->read_job_row(core::make_run(lane_, 99))->has_value());
  const RunId run = submit("a");
  enqueue(run, 3);
  core::Bundle bundle = bundle_for(run);
  auto& head = std::get<core::JobHead>(bundle.head);
  head.data = Payload(std::string(100'000, 'd'));
  head.result = Payload("early");
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  core::JobRow expected = job(run).state.job;
  EXPECT_EQ(expected.data.size(), 100'000u);
  expected.data = expected.result = Payload();
  EXPECT_EQ(**store_->read_job_row(run), expected);
  end(run);
  expected = job(run).state.job;
  EXPECT_FALSE(expected.data.empty());
  EXPECT_EQ(**store_->read_job_row(run), expected);
}

TEST_P(Reads, a_page_of_no_row_is_empty) {
  enqueue(submit("a"), 1);
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 0)->empty());
  EXPECT_TRUE(store_->read_work(lane_, {}, 0)->empty());
  EXPECT_TRUE(store_->read_outbox(lane_, 0)->empty());
  EXPECT_TRUE(store_->list_jobs({std::nullopt, std::nullopt, RunId(0), 0})->empty());
}

TEST_P(Reads, an_entity_waits_from_its_first_message_to_its_last) {
  const RunId run = submit("a");
  EXPECT_EQ(store_->read_waiting(lane_, RunId(0), 10)->size(), 1u);
  EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{job(run).inbox.front().message.guid}})), OutcomeKind::committed);
  EXPECT_TRUE(store_->read_waiting(lane_, RunId(0), 10)->empty());
  EXPECT_EQ(kind_of(to_run(run, start_message(1))), OutcomeKind::committed);
  EXPECT_EQ(store_->read_waiting(lane_, RunId(0), 10)->size(), 1u);
}

TEST_P(Reads, a_message_kept_for_a_closed_job_is_still_recovered) {
  // Its step 3 may be missing: recovery must find it.
  const RunId run = submit("a");
  core::Bundle bundle = bundle_with(run, {core::Sweep{job(run).inbox.front().message.guid}});
  std::get<core::JobHead>(bundle.head).status = core::JobStatus::failed;
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  const auto waiting = store_->read_waiting(lane_, RunId(0), 10);
  ASSERT_EQ(waiting->size(), 1u);
  EXPECT_EQ(waiting->front().run, run);
}

TEST_P(Reads, the_stores_clock_is_the_one_it_was_given) {
  const Instant before = store_->now();
  clock_.advance(std::chrono::hours(1));
  EXPECT_EQ(store_->now() - before, std::chrono::hours(1));
}

INSTANTIATE_TEST_SUITE_P(stores, Reads, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
