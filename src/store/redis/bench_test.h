// Shared by the tests of the Redis store: a separate store on a test server, and short helpers for common operations.
#pragma once

#include <memory>
#include <string>

#include "store/conformance/conformance.h"
#include "store/redis/server_test.h"
#include "store/redis/store.h"

namespace pawl::store::redis {

// Opens a store that uses the server's clock.
inline Result<std::unique_ptr<Store>> open_at(const std::string& url, Options options = {}) {
  return Store::open(url, options);
}

// One store with a pool of lanes; it uses the server's clock.
class OwnStore : public testing::Test {
 protected:
  void use(const std::string& url, Options options = {}, std::uint32_t lanes = 2) {
    auto opened = open_at(url, options);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    ASSERT_TRUE(commit(OpenPool{Pool("graphs"), lanes}).done());
    lane_ = (*store_->read_pool(Pool("graphs")))->first;
    epoch_ = commit(AcquireLane{lane_, "engine-a", std::chrono::seconds(30)}).epoch();
  }
  Result<Outcome> try_commit(const Operation& operation) {
    auto outcomes = store_->commit({&operation, 1});
    if (!outcomes) return outcomes.error();
    return std::move(outcomes->front());
  }
  Outcome commit(const Operation& operation) {
    auto outcome = try_commit(operation);
    if (outcome) return std::move(*outcome);
    ADD_FAILURE() << to_string(outcome.error());
    return {};
  }
  Submit a_job(const std::string& id, core::LaneId lane) const {
    return Submit{Namespace("default"), JobId(id), lane, {GraphName("g"), 1, 7}, "{}", store_->now()};
  }
  RunId submit(const std::string& id) { return commit(a_job(id, lane_)).run(); }
  StoredJob job(RunId run) {
    auto read = store_->read_job(run);
    if (read && *read) return std::move(**read);
    ADD_FAILURE() << "no job " << run.raw() << (read ? "" : ": " + to_string(read.error()));
    return {};
  }
  // A bundle that only changes the rev.
  core::Bundle bundle_for(RunId run) {
    const core::JobRow row = job(run).state.job;
    core::JobHead head;
    head.status = row.status;
    head.completions_before = head.completions = row.completions;
    head.next_activity = row.next_activity;
    head.remove_at = row.remove_at;
    return core::Bundle{run, epoch_, row.rev, core::BundleId(next_bundle_++), std::move(head), {}};
  }
  // Opens the next activity with work for `topic`.
  core::WorkItem put_work(RunId run, const std::string& topic) {
    core::Bundle bundle = bundle_for(run);
    auto& head = std::get<core::JobHead>(bundle.head);
    core::Activity activity;
    activity.seq = core::ActivitySeq(head.next_activity);
    activity.ledger = *ledger::ActivityLedger::decode(1'100'000'000'000);
    core::WorkItem item;
    item.run = run;
    item.activity = activity.seq;
    item.topic = Topic(topic);
    item.request = core::Guid::of_run(run).derive(core::Guid::Purpose::request, head.next_activity);
    item.input = "work";
    head.next_activity += 1;
    bundle.writes = {core::PutActivity{std::nullopt, activity}, core::PutWork{item}};
    EXPECT_EQ(commit(bundle).kind, OutcomeKind::committed);
    return item;
  }
  std::vector<core::WorkItem> claim(const std::vector<std::string>& topics, std::size_t items_max, Duration lease,
                                    const std::string& worker = "w") {
    ClaimWork claim{{}, items_max, worker, lease, lane_};
    for (const std::string& topic : topics) claim.topics.emplace_back(topic);
    return commit(claim).items();
  }
  void close(RunId run) {
    core::Bundle bundle = bundle_for(run);
    auto& head = std::get<core::JobHead>(bundle.head);
    head.status = core::JobStatus::completed;
    head.completions = 1;
    bundle.writes = {core::Sweep{std::nullopt}};
    EXPECT_EQ(commit(bundle).kind, OutcomeKind::committed);
  }
  static Deliver to_run(RunId run, std::uint64_t number) {
    Deliver deliver;
    deliver.envelope.to = run;
    deliver.envelope.message = {core::Guid{number, 7}, core::Pause{"please"}};
    return deliver;
  }

  std::unique_ptr<Store> store_;
  core::LaneId lane_{0};
  core::Epoch epoch_{0};
  std::uint64_t next_bundle_ = 1;
};

}  // namespace pawl::store::redis
