// Deployed apps: a version never changes, and one of them is active.
#include "base/limits.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Apps : public StoreTest {
 protected:
  static PutApp app(const std::string& name, const std::string& version, std::string body = "graphs",
                    const std::string& name_space = "default") {
    return {Namespace(name_space), name, version, std::move(body)};
  }
  OutcomeKind activate(const std::string& name, const std::string& version, const std::string& name_space = "default") {
    return kind_of(ActivateApp{Namespace(name_space), name, version});
  }
  std::optional<std::string> body(const std::string& name, const std::string& version) {
    return *store_->read_app(Namespace("default"), name, version);
  }
  std::vector<AppInfo> list(const std::string& name_space = "default") {
    return *store_->list_apps(Namespace(name_space));
  }
};

TEST_P(Apps, a_deployed_version_is_read_as_it_was_and_is_not_yet_in_force) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  EXPECT_FALSE(body("shop", "1").has_value());
  EXPECT_TRUE(list().empty());
  EXPECT_EQ(kind_of(app("shop", "1", bytes)), OutcomeKind::committed);
  EXPECT_EQ(body("shop", "1"), bytes);
  EXPECT_EQ(list(), (std::vector<AppInfo>{{"shop", "1", false, clock_.now()}}));
}

TEST_P(Apps, the_same_bytes_again_are_already_done_and_others_are_refused) {
  ASSERT_EQ(kind_of(app("shop", "1", "graphs")), OutcomeKind::committed);
  const Instant deployed_at = clock_.now();
  clock_.advance(lease / 2);
  EXPECT_EQ(kind_of(app("shop", "1", "graphs")), OutcomeKind::already_done);
  for (const char* other : {"", "graph", "graphs ", "GRAPHS"}) {
    const Outcome outcome = commit(app("shop", "1", other));
    EXPECT_EQ(outcome.kind, OutcomeKind::exists) << other;
    EXPECT_FALSE(outcome.reason.empty());
  }
  EXPECT_EQ(body("shop", "1"), "graphs");
  EXPECT_EQ(list()[0].deployed_at, deployed_at);
}

TEST_P(Apps, an_empty_app_is_an_app) {
  ASSERT_EQ(kind_of(app("shop", "1", "")), OutcomeKind::committed);
  EXPECT_EQ(kind_of(app("shop", "1", "")), OutcomeKind::already_done);
  EXPECT_EQ(body("shop", "1"), "");
}

TEST_P(Apps, one_version_is_in_force_and_any_may_follow_any) {
  for (const char* version : {"1", "2", "10"}) ASSERT_EQ(kind_of(app("shop", version)), OutcomeKind::committed);
  for (const char* version : {"1", "10", "2", "1"}) {
    EXPECT_EQ(activate("shop", version), OutcomeKind::committed);
    EXPECT_EQ(activate("shop", version), OutcomeKind::already_done);
    std::vector<std::string> active;
    for (const AppInfo& one : list())
      if (one.active) active.push_back(one.version);
    EXPECT_EQ(active, std::vector<std::string>{version});
  }
}

TEST_P(Apps, what_was_never_deployed_is_not_put_in_force) {
  ASSERT_EQ(kind_of(app("shop", "1")), OutcomeKind::committed);
  ASSERT_EQ(activate("shop", "1"), OutcomeKind::committed);
  const Outcome outcome = commit(ActivateApp{Namespace("default"), "shop", "2"});
  EXPECT_EQ(outcome.kind, OutcomeKind::rejected);
  EXPECT_FALSE(outcome.reason.empty());
  EXPECT_EQ(activate("other", "1"), OutcomeKind::rejected);
  EXPECT_EQ(activate("shop", "1", "other"), OutcomeKind::rejected);
  EXPECT_TRUE(list()[0].active);
}

TEST_P(Apps, apps_and_namespaces_are_kept_apart_and_listed_by_name) {
  ASSERT_EQ(kind_of(app("b", "1")), OutcomeKind::committed);
  ASSERT_EQ(kind_of(app("a", "2")), OutcomeKind::committed);
  ASSERT_EQ(kind_of(app("a", "1")), OutcomeKind::committed);
  ASSERT_EQ(kind_of(app("ab", "1")), OutcomeKind::committed);
  ASSERT_EQ(kind_of(app("a", "1", "another tenant's", "other")), OutcomeKind::committed);
  ASSERT_EQ(activate("a", "1", "other"), OutcomeKind::committed);
  ASSERT_EQ(activate("b", "1"), OutcomeKind::committed);
  const Instant now = clock_.now();
  EXPECT_EQ(list(),
            (std::vector<AppInfo>{
                {"a", "1", false, now}, {"a", "2", false, now}, {"ab", "1", false, now}, {"b", "1", true, now}}));
  EXPECT_EQ(list("other"), (std::vector<AppInfo>{{"a", "1", true, now}}));
  EXPECT_TRUE(list("nobody").empty());
  EXPECT_EQ(body("a", "1"), "graphs");
}

TEST_P(Apps, a_group_deploys_and_puts_in_force_in_its_order) {
  const auto outcomes = commit_all({ActivateApp{Namespace("default"), "shop", "1"}, app("shop", "1"),
                                    ActivateApp{Namespace("default"), "shop", "1"}, app("shop", "1", "other")});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::rejected);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[3].kind, OutcomeKind::exists);
  EXPECT_TRUE(list().at(0).active);
}

TEST_P(Apps, limits_hold) {
  EXPECT_EQ(kind_of(app("shop", "1", std::string(limits::app_bytes_max, 'x'))), OutcomeKind::committed);
  EXPECT_EQ(body("shop", "1")->size(), limits::app_bytes_max);
  const std::string long_name(limits::name_bytes_max + 1, 'n');
  for (const PutApp& put : {app("shop", "2", std::string(limits::app_bytes_max + 1, 'x')), app(long_name, "1"),
                            app("shop", long_name), app("", "1"), app("shop", "")}) {
    EXPECT_EQ(kind_of(put), OutcomeKind::rejected);
    EXPECT_EQ(activate(put.app, put.version), OutcomeKind::rejected);
  }
  EXPECT_EQ(list().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(stores, Apps, testing::ValuesIn(all_stores()), store_name);

}  // namespace

}  // namespace pawl::store
