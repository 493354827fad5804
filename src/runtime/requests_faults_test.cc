// Requests of people to many jobs, and to one task, while calls of the store fail: what a summary says is true, and
// asking again ends what was begun.
#include "base/format.h"
#include "execute/assemble.h"
#include "graph/check.h"
#include "runtime/bulk.h"
#include "runtime/engine_bench.h"
#include "runtime/tasks.h"
#include "store/fault/store.h"

namespace pawl::runtime {
namespace {

using namespace std::chrono_literals;
using store::fault::Kind;

constexpr const char* app = R"(
app:
  id: people
  version: 1
  graphs:
    - subscribes: people.works
      activities:
        start: {type: trigger}
        one: {type: worker, topic: work}
        two: {type: worker, topic: work}
      transitions: {start: [{to: one}], one: [{to: two}]}
    - subscribes: people.asks
      activities:
        begin: {type: trigger}
        ask: {type: hook, escalation: {role: boss}, job: {maps: {ok: "{$self.hook.data.ok}"}}}
      transitions: {begin: [{to: ask}]}
      hooks: {told: [{to: ask, conditions: {match: [{expected: one, actual: "{$self.hook.data.id}"}]}}]}
)";

constexpr Kind kinds[] = {Kind::error_before, Kind::error_after, Kind::drop_midway, Kind::duplicate};

class RequestsFaults : public ::testing::Test {
 protected:
  void begin() {
    bench = std::make_unique<Bench>(core::Fusion::on);
    const graph::Checked checked = graph::check_text(app);
    ASSERT_NE(checked.app, nullptr);
    auto graphs = execute::assemble(checked.app, app);
    ASSERT_TRUE(graphs.ok()) << graphs.error().detail;
    for (Graph& graph : *graphs) ASSERT_TRUE(bench->graphs.add(std::move(graph)).ok());
    pool = **bench->store.read_pool(Pool("graphs"));
  }
  // The second activity of each job fails.
  void fail_jobs(int jobs) {
    for (int i = 0; i < jobs; ++i) bench->submit(format("j{}", i), "people/people.works");
    bench->run([&](const core::WorkItem& item) {
      return item.activity.raw() == 1 ? reply(item) : reply(item, core::ReplyStatus::fatal, 503);
    });
  }
  store::fault::Store faulty(std::uint64_t call, Kind kind) {
    store::fault::Fault fault;
    fault.kind = kind;
    fault.applied = 3;
    store::fault::Options options;
    if (call > 0) options.plan = store::fault::at_call(call, fault);
    return store::fault::Store(bench->store, options);
  }
  static CommitAll into(store::Store& store) {
    return [&store](std::vector<store::Operation> operations) { return commit_in_one(store, operations); };
  }
  BulkSummary redrive_all(store::Store& store) {
    Requests requests(store, pool, bench->graphs, ++seed, [](const store::Operation&) { return store::Outcome(); }, {});
    const auto summary =
        ask_many(store, bench->graphs, requests, into(store), {}, {.verb = BulkVerb::redrive}, BulkOptions{});
    EXPECT_TRUE(summary.ok()) << summary.error().detail;
    return summary ? *summary : BulkSummary();
  }
  std::unique_ptr<Requests> requests_to(store::Store& store) {
    const auto commit = [&](const store::Operation& operation) -> Result<store::Outcome> {
      auto outcomes = store.commit({&operation, 1});
      if (!outcomes) return outcomes.error();
      return std::move(outcomes->front());
    };
    return std::make_unique<Requests>(store, pool, bench->graphs, ++seed, commit, Requests::Duplex{});
  }
  std::size_t count(std::optional<core::JobStatus> status) {
    store::ListQuery query;
    query.status = status;
    query.rows_max = 1000;
    return bench->store.list_jobs(query)->size();
  }

  std::unique_ptr<Bench> bench;
  store::PoolInfo pool;
  std::uint64_t seed = 100;
};

TEST_F(RequestsFaults, a_bulk_whose_answers_are_lost_anywhere_tells_what_it_knows_and_is_ended_by_the_next_one) {
  constexpr int jobs = 6;
  for (const Kind kind : kinds)
    for (const std::uint64_t call : {1u, 2u}) {  // the new runs, and the removal of the old ones
      SCOPED_TRACE(format("{} at call {}", store::fault::name_of(kind), call));
      begin();
      fail_jobs(jobs);
      ASSERT_EQ(count(core::JobStatus::failed), static_cast<std::size_t>(jobs));
      store::fault::Store broken = faulty(call, kind);
      const BulkSummary first = redrive_all(broken);
      EXPECT_EQ(broken.fired(), 1u);
      EXPECT_EQ(first.matched, static_cast<std::uint64_t>(jobs));
      std::uint64_t refused = 0;
      for (const BulkRefusal& one : first.refused) refused += one.jobs;
      EXPECT_EQ(first.done + refused, static_cast<std::uint64_t>(jobs));
      // A start that comes twice has followed itself: the second answer says so.
      EXPECT_EQ(first.done, call == 2 ? static_cast<std::uint64_t>(jobs) : 0u);
      redrive_all(bench->store);
      EXPECT_EQ(count(core::JobStatus::failed), 0u) << "a run that was followed does not stay";
      EXPECT_EQ(count(std::nullopt), static_cast<std::size_t>(jobs)) << "each has one run that goes on";
    }
}

TEST_F(RequestsFaults, a_run_whose_removal_was_lost_is_removed_by_another_redrive_which_names_the_run_that_goes_on) {
  begin();
  fail_jobs(1);
  const RunId failed = **bench->store.find_run(default_namespace(), JobId("j0"));
  const auto ask = [&](store::Store& store) {
    Requests requests(store, pool, bench->graphs, ++seed,
                      [&](store::Operation operation) -> Result<store::Outcome> {
                        auto outcomes = store.commit({&operation, 1});
                        return outcomes ? Result(std::move(outcomes->front())) : outcomes.error();
                      },
                      {});
    return requests.redrive(failed, {});
  };
  store::fault::Store broken = faulty(2, Kind::error_before);
  const auto going = ask(broken);
  ASSERT_TRUE(going.ok()) << going.error().detail;
  ASSERT_TRUE(*bench->store.read_job_row(failed)) << "its removal was refused";
  const auto again = ask(bench->store);
  ASSERT_TRUE(again.ok()) << again.error().detail;
  EXPECT_EQ(*again, *going);
  EXPECT_FALSE(*bench->store.read_job_row(failed));
}

TEST_F(RequestsFaults, a_rerun_whose_answer_is_lost_names_the_id_with_which_to_ask_again) {
  begin();
  fail_jobs(1);
  const RunId failed = **bench->store.find_run(default_namespace(), JobId("j0"));
  store::fault::Store broken = faulty(1, Kind::error_after);
  const auto lost = requests_to(broken)->rerun(failed, {});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, ErrorCode::outcome_unknown);
  EXPECT_NE(lost.error().detail.find("with the id j0.again1"), std::string::npos) << lost.error().detail;
  const auto again = requests_to(bench->store)->rerun(failed, {.id = "j0.again1"});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::already_exists) << "it was made";
}

class ClaimFaults : public RequestsFaults {
 protected:
  void ask_somebody() {
    begin();
    bench->submit("a", "people/people.asks");
    bench->settle();
    const RunId run = **bench->store.find_run(default_namespace(), JobId("a"));
    id = format("{}.1", run.raw());
    apps =
        std::make_unique<Apps>(bench->store, bench->graphs, [](const store::Operation&) { return store::Outcome(); });
  }
  Tasks tasks(store::Store& store) { return Tasks(store, pool, *apps, bench->graphs, into(store)); }
  void advance(Duration by) { bench->clock.advance(by); }

  std::string id;
  std::unique_ptr<Apps> apps;
};

TEST_F(ClaimFaults, two_never_have_a_task_whatever_call_of_the_store_fails) {
  for (const Kind kind : kinds)
    for (std::uint64_t call = 1; call <= 4; ++call)
      for (const bool served : {false, true}) {
        SCOPED_TRACE(format("{} at call {}", store::fault::name_of(kind), call));
        ask_somebody();
        store::fault::Store broken = faulty(call, kind);
        Tasks sound = tasks(bench->store);
        Tasks failing = tasks(broken);
        // Each believes to have it until the time is over once it was told so.
        std::string holder;
        const auto claim = [&](Tasks& by, const std::string& who) {
          if (!by.claim(id, who, 1h).ok()) return;
          EXPECT_TRUE(holder.empty() || holder == who) << who << " has it, and so has " << holder;
          holder = who;
        };
        claim(failing, "ann");
        if (served) bench->wait(5s);
        claim(sound, "bob");
        claim(failing, "ann");
        claim(failing, "bob");
        claim(sound, "ann");
        EXPECT_FALSE(holder.empty()) << "in the end somebody gets it";
        const Status other = sound.resolve(id, "{\"id\":\"one\",\"ok\":1}", {.who = holder == "ann" ? "bob" : "ann"});
        EXPECT_EQ(other.ok() ? ErrorCode::already_done : other.error().code, ErrorCode::conflict);
        EXPECT_TRUE(sound.resolve(id, "{\"id\":\"one\",\"ok\":2}", {.who = holder}).ok());
        bench->wait(5s);
        EXPECT_EQ((*bench->store.read_job_row(RunId(std::stoull(id))))->status, core::JobStatus::completed);
      }
}

TEST_F(ClaimFaults, a_task_is_held_by_one_behind_any_number_of_claims_that_are_over) {
  ask_somebody();
  Tasks line = tasks(bench->store);
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(line.claim(id, format("p{}", i), 1s).ok());
    advance(2s);
    if (i == 75) bench->settle();
  }
  ASSERT_TRUE(line.claim(id, "ann", 1h).ok());
  const auto second = line.claim(id, "bob", 1h);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().detail.find("ann"), std::string::npos) << second.error().detail;
}

TEST_F(ClaimFaults, a_claim_that_is_made_again_leaves_one) {
  ask_somebody();
  Tasks line = tasks(bench->store);
  const core::MailboxKey key{default_namespace(), Topic(claims_topic), id};
  const auto kept = [&] {
    store::KeptQuery query;
    query.mailbox = **bench->store.find_mailbox(key);
    const auto read = bench->store.read_kept(query);
    return (*read)->entries.size() + (*read)->unserved.size();
  };
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(line.claim(id, "ann", 1h).ok());
    EXPECT_EQ(kept(), 1u);
    advance(1min);
    if (i % 2 == 1) bench->wait(5s);
  }
  ASSERT_TRUE(line.claim(id, "ann", 1min).ok()) << "it may also become shorter";
  advance(2min);
  EXPECT_TRUE(line.claim(id, "bob", 1h).ok());
}

TEST_F(ClaimFaults, of_two_who_resolve_a_task_one_is_told_that_it_is_done) {
  ask_somebody();
  Tasks line = tasks(bench->store);
  ASSERT_TRUE(line.resolve(id, "{\"id\":\"one\",\"ok\":1}", {.who = "ann"}).ok());
  const auto second = line.resolve(id, "{\"id\":\"one\",\"ok\":2}", {.who = "bob"});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_NE(second.error().detail.find("resolved"), std::string::npos) << second.error().detail;
  bench->wait(5s);
  EXPECT_EQ(bench->state("a").job.data.str(), R"({"ok":1})");
}

}  // namespace
}  // namespace pawl::runtime
