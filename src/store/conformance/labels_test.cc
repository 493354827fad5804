// Labels by which jobs are found, their measures and announcements: committed with the job's bundle, or not at all.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Labels : public StoreTest {
 protected:
  static core::Label label(const std::string& value, const std::string& key = "york",
                           const std::string& name = "side") {
    return {key, name, value};
  }
  std::vector<RunId> found(const std::string& value, std::optional<std::string> key = "york", bool open_only = false,
                           RunId after = RunId(0), std::size_t rows_max = 100) {
    ListQuery query;
    query.name_space = Namespace("default");
    query.after = after;
    query.rows_max = rows_max;
    query.label = ListQuery::Labelled{graph_, "side", value, std::move(key), open_only};
    std::vector<RunId> runs;
    const auto rows = store_->list_jobs(query);
    for (const core::JobRow& row : *rows) runs.push_back(row.run);
    return runs;
  }
  RunId labelled(const std::string& id, const core::Label& one) {
    const RunId run = submit(id);
    graph_ = job(run).state.job.graph.name;
    EXPECT_EQ(kind_of(bundle_with(run, {core::PutLabel{one}})), OutcomeKind::committed);
    return run;
  }
  std::vector<MeasureRow> measures(std::optional<std::string> key = std::nullopt, std::string from = "",
                                   std::string to = "") {
    return *store_->read_measures({Namespace("default"), graph_, std::move(key), std::move(from), std::move(to), 100});
  }
  std::vector<AnnouncementRow> announcements(AnnouncementQuery query = {}) {
    query.lane = lane_;
    return *store_->read_announcements(query);
  }
  core::Announce said(const std::string& topic, Payload data) const {
    return {Topic(topic), core::Announce::What::end, core::ReplyStatus::error, -404, clock_.now(), std::move(data)};
  }

  GraphName graph_{""};
};

TEST_P(Labels, find_their_jobs_page_by_page_in_the_order_of_their_runs) {
  std::vector<RunId> north;
  for (const char* id : {"a", "b", "c", "d", "e"}) north.push_back(labelled(id, label("north")));
  const RunId south = labelled("f", label("south"));
  const RunId bath = labelled("g", label("north", "bath"));
  EXPECT_EQ(found("north"), north);
  EXPECT_EQ(found("south"), std::vector<RunId>{south});
  EXPECT_EQ(found("north", "bath"), std::vector<RunId>{bath});
  EXPECT_EQ(found("north", std::nullopt).size(), 6u) << "of any key";
  EXPECT_TRUE(found("east").empty());
  EXPECT_EQ(found("north", "york", false, RunId(0), 2), std::vector<RunId>(north.begin(), north.begin() + 2));
  EXPECT_EQ(found("north", "york", false, north[1], 2), std::vector<RunId>(north.begin() + 2, north.begin() + 4));
  EXPECT_EQ(found("north", "york", false, north[4], 2), std::vector<RunId>{});
}

TEST_P(Labels, find_open_jobs_only_when_asked_to) {
  const RunId open = labelled("a", label("north"));
  const RunId over = labelled("b", label("north"));
  end(over);
  EXPECT_EQ(found("north"), (std::vector<RunId>{open, over}));
  EXPECT_EQ(found("north", "york", true), std::vector<RunId>{open});
  ListQuery query;
  query.name_space = Namespace("default");
  query.status = core::JobStatus::completed;
  query.label = ListQuery::Labelled{graph_, "side", "north", "york"};
  const auto completed = store_->list_jobs(query);
  ASSERT_EQ(completed->size(), 1u);
  EXPECT_EQ(completed->front().run, over);
}

TEST_P(Labels, need_a_namespace_and_keep_to_it) {
  labelled("a", label("north"));
  ListQuery query;
  query.label = ListQuery::Labelled{graph_, "side", "north", "york"};
  EXPECT_EQ(store_->list_jobs(query).error().code, ErrorCode::invalid);
  query.name_space = Namespace("other");
  EXPECT_TRUE(store_->list_jobs(query)->empty());
}

TEST_P(Labels, are_put_once_dropped_and_go_with_their_job) {
  const RunId run = labelled("a", label("north"));
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutLabel{label("north")}})), OutcomeKind::committed);
  EXPECT_EQ(found("north").size(), 1u);
  ASSERT_EQ(kind_of(bundle_with(run, {core::DropLabel{label("north")}, core::DropLabel{label("none")}})),
            OutcomeKind::committed);
  EXPECT_TRUE(found("north").empty());
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutLabel{label("south")}, core::Announce{said("t", "x")}})),
            OutcomeKind::committed);
  end(run);
  ASSERT_EQ(kind_of(RemoveJob{run, Instant()}), OutcomeKind::committed);
  EXPECT_TRUE(found("south").empty());
  EXPECT_TRUE(announcements().empty());
}

TEST_P(Labels, of_a_refused_bundle_leave_no_trace) {
  const RunId run = labelled("a", label("north"));
  core::Bundle stale = bundle_with(
      run, {core::PutLabel{label("south")}, core::AddMeasure{{"k", "0", "t", {}, 1}}, core::Announce{said("t", "x")}});
  stale.rev_before = core::Rev(99);
  EXPECT_EQ(kind_of(stale), OutcomeKind::conflict);
  // Refused after its first write, together with good ones.
  core::Bundle wrong = bundle_with(run, {core::PutLabel{label("south")}, core::AddMeasure{{"k", "0", "t", {}, 1}},
                                         core::Announce{said("t", "x")}, core::DropEntry{1}});
  EXPECT_EQ(kind_of(wrong), OutcomeKind::rejected);
  EXPECT_TRUE(found("south").empty());
  EXPECT_TRUE(measures().empty());
  EXPECT_TRUE(announcements().empty());
}

TEST_P(Labels, of_a_bundle_that_comes_twice_count_once) {
  const RunId run = labelled("a", label("north"));
  const core::Bundle bundle =
      bundle_with(run, {core::AddMeasure{{"k", "0", "t", {}, 2.5}}, core::Announce{said("t", "x")}});
  EXPECT_EQ(kind_of(bundle), OutcomeKind::committed);
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
  EXPECT_EQ(measures(), (std::vector<MeasureRow>{{"k", "0", "t", std::nullopt, 1, 2.5, 2.5, 2.5}}));
  EXPECT_EQ(announcements().size(), 1u);
}

TEST_P(Labels, measures_are_added_up_by_key_slice_target_and_value) {
  const RunId a = labelled("a", label("north"));
  const RunId b = labelled("b", label("north"));
  const auto add = [&](RunId run, core::Measure one) {
    ASSERT_EQ(kind_of(bundle_with(run, {core::AddMeasure{std::move(one)}})), OutcomeKind::committed);
  };
  add(a, {"k", "202611160100", "total", {}, 10});
  add(b, {"k", "202611160100", "total", {}, -2.5});
  add(b, {"k", "202611160100", "total", "10", 10});
  add(b, {"k", "202611160105", "total", {}, 1});
  add(a, {"other", "202611160100", "", {}, 1});
  EXPECT_EQ(measures("k"), (std::vector<MeasureRow>{{"k", "202611160100", "total", std::nullopt, 2, 7.5, -2.5, 10},
                                                    {"k", "202611160100", "total", "10", 1, 10, 10, 10},
                                                    {"k", "202611160105", "total", std::nullopt, 1, 1, 1, 1}}));
  EXPECT_EQ(measures().size(), 4u);
  EXPECT_EQ(measures("k", "202611160105").size(), 1u);
  EXPECT_EQ(measures("k", "", "202611160100").size(), 2u);
  end(a);
  ASSERT_EQ(kind_of(RemoveJob{a, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(measures().size(), 4u) << "what was counted stays counted";
}

TEST_P(Labels, announcements_are_read_in_order_from_the_last_one_seen) {
  const RunId a = labelled("a", label("north"));
  const RunId b = labelled("b", label("north"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(kind_of(bundle_with(a, {said("t", "a")})), OutcomeKind::committed);
    ASSERT_EQ(kind_of(bundle_with(b, {said(i == 1 ? "u" : "t", "b"), said("t", "c")})), OutcomeKind::committed);
  }
  const auto all = announcements();
  ASSERT_EQ(all.size(), 9u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].seq, all[i - 1].seq);
  EXPECT_EQ(all[1].said, said("t", "b"));
  EXPECT_EQ(all[1].job, JobId("b"));
  EXPECT_EQ(all[1].name_space, Namespace("default"));
  EXPECT_EQ(all[1].run, b);
  AnnouncementQuery query;
  query.after = all[3].seq;
  query.rows_max = 2;
  EXPECT_EQ(announcements(query), std::vector<AnnouncementRow>(all.begin() + 4, all.begin() + 6));
  AnnouncementQuery of_topic;
  of_topic.topic = Topic("u");
  EXPECT_EQ(announcements(of_topic), std::vector<AnnouncementRow>{all[4]});
  AnnouncementQuery of_run;
  of_run.run = a;
  EXPECT_EQ(announcements(of_run).size(), 3u);
  AnnouncementQuery of_other;
  of_other.name_space = Namespace("other");
  EXPECT_TRUE(announcements(of_other).empty());
}

TEST_P(Labels, numbers_of_announcements_are_not_used_twice) {
  const RunId a = labelled("a", label("north"));
  ASSERT_EQ(kind_of(bundle_with(a, {said("t", "a")})), OutcomeKind::committed);
  const std::uint64_t seen = announcements().back().seq;
  end(a);
  ASSERT_EQ(kind_of(RemoveJob{a, Instant()}), OutcomeKind::committed);
  const RunId b = labelled("b", label("north"));
  ASSERT_EQ(kind_of(bundle_with(b, {said("t", "b")})), OutcomeKind::committed);
  EXPECT_GT(announcements().back().seq, seen) << "a reader would have missed it";
}

TEST_P(Labels, have_limits) {
  const RunId run = labelled("a", label("north"));
  const std::string long_text(limits::label_bytes_max + 1, 'x');
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutLabel{label(long_text)}})), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutLabel{label("a", long_text)}})), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(bundle_with(run, {core::AddMeasure{{"k", "0", "t", long_text, 1}}})), OutcomeKind::rejected);
  EXPECT_EQ(kind_of(bundle_with(run, {core::PutLabel{label(long_text.substr(1))}})), OutcomeKind::committed);
}

INSTANTIATE_TEST_SUITE_P(stores, Labels, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
