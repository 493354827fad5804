// What outside systems get of a job: an idempotency key that no other work ever gets, also after an older copy of the
// store was put back, and a token that cannot be computed.
#include <filesystem>

#include "life.h"
#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

struct Given {
  std::string key;
  std::string token;
  std::uint64_t run = 0;
};

// A store in a file, with one graph of one activity whose worker keeps what it got and returns.
class Identity : public ::testing::TestWithParam<Collation> {
 protected:
  static AppText graph() {
    return std::move(*GraphBuilder("step").trigger("t").worker("act", "work").after("t").collation(GetParam()).build());
  }
  void open(bool serve = true) {
    Worker worker = [this](Work& work) {
      const std::lock_guard lock(mutex_);
      given_[work.input().str()] = {work.key(), work.token(), work.run().raw()};
      return Reply::later(1h);
    };
    runtime_ = start_with({.store = dir_ / "store.db"}, graph(), serve ? std::move(worker) : Worker());
  }
  void close() { runtime_.reset(); }
  Given run(const std::string& id) {
    const auto job = runtime_->start("step", Payload(id), {.id = id});
    EXPECT_TRUE(job.ok());
    return given(id);
  }
  Given given(const std::string& id) {
    Given found;
    EXPECT_TRUE(comes_true([&] {
      const std::lock_guard lock(mutex_);
      const auto at = given_.find(id);
      if (at != given_.end()) found = at->second;
      return at != given_.end();
    }));
    return found;
  }
  // Until the worker has returned, a duplex job answers retry_later.
  Status complete(const std::string& token) {
    Status status;
    EXPECT_TRUE(comes_true([&] {
      status = runtime_->complete(token, Reply::success("paid"));
      return status.ok() || status.error().code != ErrorCode::retry_later;
    }));
    return status;
  }
  void copy(const std::string& from, const std::string& to) {
    using std::filesystem::copy_options;
    for (const std::string end : {"-wal", "-shm", "-owner"}) std::filesystem::remove(dir_ / (to + end));
    std::filesystem::copy_file(dir_ / from, dir_ / to, copy_options::overwrite_existing);
    if (std::filesystem::exists(dir_ / (from + "-wal")))
      std::filesystem::copy_file(dir_ / (from + "-wal"), dir_ / (to + "-wal"), copy_options::overwrite_existing);
  }

  TempDir dir_;
  std::unique_ptr<Runtime> runtime_;
  std::mutex mutex_;
  std::map<std::string, Given> given_;  // by the job's input
};

TEST_P(Identity, another_job_gets_another_key_and_token_after_an_older_copy_was_put_back) {
  open();
  run("yesterday");
  close();
  copy("store.db", "copy.db");
  open();
  const Given lost = run("paid-meanwhile");
  close();
  copy("copy.db", "store.db");
  open();
  const Given other = run("today");
  EXPECT_EQ(other.run, lost.run) << "the store gives the number away once more";
  EXPECT_NE(other.key, lost.key) << "a payment provider would answer with somebody else's charge";
  EXPECT_NE(other.token, lost.token);
  EXPECT_TRUE(fails_with(complete(lost.token), ErrorCode::conflict, {"no longer good"}));
  EXPECT_TRUE(complete(other.token).ok());
}

TEST_P(Identity, the_same_job_keeps_its_key_after_an_older_copy_was_put_back) {
  open(false);
  ASSERT_TRUE(runtime_->start("step", Payload("same"), {.id = "same"}).ok());
  close();
  copy("store.db", "copy.db");
  open();
  const Given before = given("same");
  close();
  copy("copy.db", "store.db");
  {
    const std::lock_guard lock(mutex_);
    given_.clear();
  }
  open();
  EXPECT_EQ(given("same").key, before.key) << "it is the same work, and may have been done";
}

TEST_P(Identity, a_new_run_of_an_id_has_a_new_key) {
  open();
  const Given first = run("j");
  ASSERT_TRUE(complete(first.token).ok());
  ASSERT_TRUE(runtime_->job(RunId(first.run)).wait(20s).ok());
  if (GetParam() == Collation::duplex) return;  // its ids stay taken
  const auto again = runtime_->start("step", Payload("again"), {.id = "j", .reuse = IdReuse::after_close});
  ASSERT_TRUE(again.ok());
  EXPECT_NE(given("again").key, first.key);
}

// As a script could do it that had seen one token: names were made of the run number, by functions that anyone can
// compute.
struct Script {
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t high = 0, low = 0;
  explicit Script(std::uint64_t run) : high(mix(run ^ 0x7061776c5f72756eULL)), low(mix(run + 0x9e3779b97f4a7c15ULL)) {}
  Script& derive(std::uint64_t purpose) {
    const std::uint64_t salt = mix(purpose);
    high = mix(high ^ salt);
    low = mix(low + salt + (high >> 7));
    return *this;
  }
  // The token of the first attempt of the activity behind the trigger.
  static std::uint64_t token(std::uint64_t run) {
    return (mix(Script(run).derive(1).derive(2).derive(3).low + 1) >> 1) | 1;
  }
};

TEST_P(Identity, a_token_that_was_computed_from_another_is_refused) {
  open();
  const Given own = run("own");
  const Given other = run("other");
  const std::size_t last = own.token.rfind('-');
  const std::uint64_t mask = std::stoull(own.token.substr(last + 1), nullptr, 16) ^ Script::token(own.run);
  const std::uint64_t other_token = Script::token(other.run) ^ mask;
  std::string forged = other.token.substr(0, other.token.rfind('-') + 1);
  forged += [&] {
    std::ostringstream hex;
    hex << std::hex << other_token;
    return hex.str();
  }();
  EXPECT_TRUE(fails_with(complete(forged), ErrorCode::conflict, {"no longer good"}));
  EXPECT_FALSE(runtime_->heartbeat(forged, Payload("mine")).ok());
  EXPECT_TRUE(complete(other.token).ok());
  EXPECT_TRUE(complete(own.token).ok());
}

INSTANTIATE_TEST_SUITE_P(collation, Identity, ::testing::Values(Collation::ledger, Collation::duplex),
                         [](const auto& of) { return of.param == Collation::duplex ? "duplex" : "ledger"; });

}  // namespace
}  // namespace pawl
