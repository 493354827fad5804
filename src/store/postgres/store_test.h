// A PostgreSQL store with a pool of two lanes, and short helpers for common steps.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/random.h"
#include "store/postgres/schema_test.h"

namespace pawl::store::postgres {

class PostgresTest : public testing::Test {
 protected:
  static constexpr Duration lease = std::chrono::seconds(30);

  std::unique_ptr<Store> open(const std::string& parameters = {}, Options options = {}) {
    auto store = schema_.open(std::move(options), parameters);
    if (store != nullptr && !made_) {
      made_ = true;
      EXPECT_EQ(commit(*store, OpenPool{pawl::Pool("graphs"), 2}).kind, OutcomeKind::committed);
    }
    return store;
  }
  static Outcome commit(Store& store, const Operation& operation) {
    auto outcomes = store.commit({&operation, 1});
    if (outcomes) return outcomes->front();
    ADD_FAILURE() << to_string(outcomes.error());
    return {};
  }
  static core::Epoch acquire(Store& store, std::uint32_t lane, const std::string& owner, Duration time = lease) {
    return commit(store, AcquireLane{core::LaneId(lane), owner, time}).epoch();
  }
  static Submit submit_of(const std::string& id, std::uint32_t lane = 1) {
    return Submit{Namespace("default"), JobId(id), core::LaneId(lane), {GraphName("g"), 1, 1}, "{}", Instant()};
  }
  static core::Bundle bundle_for(Store& store, RunId run, core::Epoch epoch, std::vector<core::Write> writes = {}) {
    const auto job = store.read_job(run);
    EXPECT_TRUE(job && *job);
    const core::JobRow& row = (*job)->state.job;
    core::JobHead head;
    head.next_activity = row.next_activity;
    for (const core::Write& write : writes)
      if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before)
        ++head.next_activity;
    return core::Bundle{run, epoch, row.rev, core::BundleId(row.rev.raw() + 1), std::move(head), std::move(writes)};
  }
  static core::Activity activity(std::uint32_t seq, std::uint64_t digits) {
    core::Activity made;
    made.seq = core::ActivitySeq(seq);
    made.ledger = *ledger::ActivityLedger::decode(digits);
    return made;
  }
  static core::Guid guid(std::uint64_t number) { return core::Guid{number, Random::mix(number + 1)}; }
  static core::Message start(std::uint64_t number) { return {guid(number), core::Start{"x"}}; }

  TestSchema schema_;
  bool made_ = false;
};

}  // namespace pawl::store::postgres
