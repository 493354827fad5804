// read_due: everything that is due by the clock in a lane, of four kinds, in one order, page by page.
#include <algorithm>

#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class DueLists : public StoreTest {
 protected:
  using Kind = Due::Kind;
  Instant in(int seconds) { return clock_.now() + std::chrono::seconds(seconds); }
  std::vector<Due> due(std::optional<Due> after = std::nullopt, std::size_t rows_max = 1000) {
    return *store_->read_due(lane_, after, rows_max);
  }
  // The whole list read in pages of this size; it must equal the list read at once.
  std::vector<Due> by_pages(std::size_t rows_max) {
    std::vector<Due> all;
    std::optional<Due> cursor;
    while (true) {
      const auto page = due(cursor, rows_max);
      EXPECT_LE(page.size(), rows_max);
      if (page.empty()) return all;
      all.insert(all.end(), page.begin(), page.end());
      cursor = page.back();
    }
  }
  RunId quiet(const std::string& id, core::LaneId lane) {
    const RunId run = submit_to(lane, id);
    EXPECT_EQ(kind_of(bundle_with(run, {core::Consume{job(run).inbox.at(0).message.guid}})), OutcomeKind::committed);
    return run;
  }
  Due timer(RunId run, std::uint64_t number, Instant at) {
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutMessage{start_message(number), at}})), OutcomeKind::committed);
    return Due{at, run, Kind::message, guid(number), core::ActivitySeq(0)};
  }
  Due work(RunId run, Instant at) {
    core::WorkItem item;
    item.visible_at = at;
    item = enqueue_item(run, item);
    return Due{at, run, Kind::work, {}, item.activity};
  }
  Due removal(const std::string& id, Instant at) {
    const RunId run = submit(id);
    end(run, core::JobStatus::failed, at);
    return Due{at, run, Kind::removal, {}, core::ActivitySeq(0)};
  }
  Due key(const std::string& id, Instant at) {
    const RunId run = submit(id);
    end(run);
    EXPECT_EQ(kind_of(RemoveJob{run, at}), OutcomeKind::committed);
    return Due{at, run, Kind::key, {}, core::ActivitySeq(0)};
  }
};

TEST_P(DueLists, nothing_is_due_of_jobs_that_only_wait_for_an_engine) {
  enqueue(submit("a"), 3);
  end(submit("b"));
  EXPECT_TRUE(due().empty());
}

TEST_P(DueLists, the_four_kinds_come_in_one_order_by_time) {
  const RunId run = quiet("a", lane_);
  const Due last = timer(run, 1, in(40));
  const Due third = work(run, in(30));
  const Due second = removal("b", in(20));
  const Due first = key("c", in(10));
  EXPECT_EQ(due(), (std::vector<Due>{first, second, third, last}));
}

TEST_P(DueLists, what_is_due_at_one_time_comes_by_run_and_kind_and_name) {
  const RunId one = quiet("a", lane_);
  const RunId two = quiet("b", lane_);
  std::vector<Due> all = {work(two, in(5)),     timer(one, 2, in(5)), work(one, in(5)),
                          timer(two, 1, in(5)), timer(one, 1, in(5)), work(one, in(5)),
                          key("c", in(5)),      removal("d", in(5)),  timer(two, 9, in(5))};
  std::sort(all.begin(), all.end());
  EXPECT_EQ(due(), all);
  for (std::size_t page = 1; page <= all.size() + 1; ++page) EXPECT_EQ(by_pages(page), all) << page;
}

TEST_P(DueLists, a_cursor_goes_on_after_itself_whatever_kind_it_is_and_whether_it_still_exists) {
  const RunId run = quiet("a", lane_);
  const Due message = timer(run, 5, in(5));
  const Due item = work(run, in(5));
  const Due later = timer(run, 6, in(6));
  const Due gone_message{in(5), run, Kind::message, guid(4), core::ActivitySeq(0)};
  const Due gone_removal{in(5), run, Kind::removal, {}, core::ActivitySeq(0)};
  const Due gone_key{in(5), RunId(run.raw() - 1), Kind::key, {}, core::ActivitySeq(0)};
  EXPECT_EQ(due(gone_message), (std::vector<Due>{message, item, later}));
  EXPECT_EQ(due(message), (std::vector<Due>{item, later}));
  EXPECT_EQ(due(item), (std::vector<Due>{later}));
  EXPECT_EQ(due(gone_removal), (std::vector<Due>{later}));
  EXPECT_EQ(due(gone_key), (std::vector<Due>{message, item, later}));
  EXPECT_TRUE(due(later).empty());
}

TEST_P(DueLists, a_lane_lists_its_own) {
  const Due mine = timer(quiet("a", lane_), 1, in(5));
  const Due other = timer(quiet("b", other_lane_), 2, in(4));
  EXPECT_EQ(due(), std::vector<Due>{mine});
  EXPECT_EQ(*store_->read_due(other_lane_, std::nullopt, 10), std::vector<Due>{other});
  EXPECT_TRUE(store_->read_due(core::LaneId(60'000), std::nullopt, 10)->empty());
}

TEST_P(DueLists, what_is_overdue_stays_listed) {
  const Due one = timer(quiet("a", lane_), 1, in(5));
  clock_.advance(std::chrono::seconds(100));
  EXPECT_EQ(due(), std::vector<Due>{one});
}

TEST_P(DueLists, a_work_item_wakes_the_engine_at_the_soonest_of_its_times) {
  core::WorkItem item;
  item.visible_at = in(30);
  item.life.queue_by = in(20);
  item.life.deadline = in(10);
  enqueue_item(quiet("a", lane_), item);
  ASSERT_EQ(due().size(), 1u);
  EXPECT_EQ(due()[0].at, in(10));
}

TEST_P(DueLists, a_lease_is_due_when_it_ends_and_moves_with_every_heartbeat) {
  const RunId run = quiet("a", lane_);
  enqueue(run, 1);
  const core::WorkItem item = claim(1).at(0);
  ASSERT_EQ(due().size(), 1u);
  EXPECT_EQ(due()[0].at, item.lease_until);
  clock_.advance(std::chrono::seconds(3));
  commit(ExtendWork{run, item.activity, item.token, lease});
  ASSERT_EQ(due().size(), 1u);
  EXPECT_EQ(due()[0].at, clock_.now() + lease);
  EXPECT_EQ(kind_of(ReleaseWork{run, item.activity, item.token}), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
}

TEST_P(DueLists, a_held_item_wakes_nobody_until_it_is_given_free) {
  const RunId run = quiet("a", lane_);
  const Due one = work(run, in(7));
  EXPECT_EQ(kind_of(bundle_with(run, {core::HoldWork{true}})), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(kind_of(bundle_with(run, {core::HoldWork{false}})), OutcomeKind::committed);
  EXPECT_EQ(due(), std::vector<Due>{one});
}

TEST_P(DueLists, an_item_that_is_dropped_answered_or_swept_is_not_due) {
  const RunId run = quiet("a", lane_);
  work(run, in(7));
  work(run, in(8));
  work(run, in(9));
  EXPECT_EQ(kind_of(bundle_with(run, {core::DropWork{core::ActivitySeq(0), core::WorkToken(0)}})),
            OutcomeKind::committed);
  EXPECT_EQ(due().size(), 2u);
  const core::PutActivity done{activity_ledger(1'100'000'000'000), activity(1, 1'110'000'000'001)};
  EXPECT_EQ(kind_of(bundle_with(run, {done})), OutcomeKind::committed);
  EXPECT_EQ(due().size(), 1u);
  EXPECT_EQ(kind_of(bundle_with(run, {core::Sweep{std::nullopt}})), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
}

TEST_P(DueLists, a_removal_is_due_until_it_happened) {
  const Due one = removal("a", in(5));
  EXPECT_EQ(due(), std::vector<Due>{one});
  EXPECT_EQ(kind_of(RemoveJob{one.run, Instant()}), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
}

TEST_P(DueLists, no_removal_is_due_of_a_job_that_is_not_over) {
  const RunId run = submit("a");
  core::Bundle announced = bundle_with(run, {});
  std::get<core::JobHead>(announced.head).remove_at = in(5);  // its end is known in advance
  ASSERT_EQ(kind_of(announced), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
  core::Bundle closed = bundle_with(run, {});
  auto& head = std::get<core::JobHead>(closed.head);
  head.status = core::JobStatus::completed;
  head.closed_at = clock_.now();
  head.remove_at = in(5);
  ASSERT_EQ(kind_of(closed), OutcomeKind::committed);
  EXPECT_TRUE(due().empty()) << "its completion tasks are to be done";
  core::Bundle done = bundle_with(run, {});
  auto& end = std::get<core::JobHead>(done.head);
  end = head;
  end.completions = 1;
  ASSERT_EQ(kind_of(done), OutcomeKind::committed);
  EXPECT_EQ(due(), (std::vector<Due>{{in(5), run, Kind::removal, {}, core::ActivitySeq(0)}}));
}

TEST_P(DueLists, a_key_is_due_until_it_is_dropped_or_taken_over) {
  const Due one = key("a", in(5));
  const Due two = key("b", in(6));
  EXPECT_EQ(due(), (std::vector<Due>{one, two}));
  Submit again{Namespace("default"), JobId("b"), lane_, {GraphName("g"), 1, 1}, "", clock_.now()};
  again.reuse = Reuse::after_close;
  EXPECT_EQ(kind_of(again), OutcomeKind::committed);
  EXPECT_EQ(due(), std::vector<Due>{one});
  EXPECT_EQ(kind_of(DropKeys{in(5), 10}), OutcomeKind::committed);
  EXPECT_TRUE(due().empty());
}

TEST_P(DueLists, a_thousand_of_them_are_read_once_each_by_pages) {
  const RunId run = quiet("a", lane_);
  std::vector<core::Write> writes;
  std::vector<Due> all;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Instant at = in(static_cast<int>(Random::mix(i) % 50));
    if (at == clock_.now()) continue;
    writes.emplace_back(core::PutMessage{start_message(i), at});
    all.push_back(Due{at, run, Kind::message, guid(i), core::ActivitySeq(0)});
  }
  ASSERT_EQ(kind_of(bundle_with(run, std::move(writes))), OutcomeKind::committed);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(by_pages(37), all);
}

INSTANTIATE_TEST_SUITE_P(stores, DueLists, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
