// Handouts: work for workers in other processes. They take it from the store under a lease, whoever owns its job, and
// answer by token. Nothing of it lives in this process: it may die and be started again, and a worker that still has
// its lease answers all the same. A worker whose lease is over finds that its token is stale: its word changes nothing.
//
// Any thread may call it. `done` is called once, on the engine's thread, which does nothing else meanwhile; or at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/guid.h"
#include "core/message.h"
#include "pawl/result.h"
#include "pawl/worker.h"
#include "runtime/work_desk.h"
#include "store/job_store.h"

namespace pawl::runtime {

struct TakeRequest {
  std::vector<std::string> topics;
  std::size_t items_max = 1;
  std::string worker;  // its name, for people
  Duration lease{0};
  std::size_t bytes_max = 0;  // of all inputs and progress together, unless the first one alone has more; 0: any
};
struct TakenWork {
  struct JobName {
    std::string id;
    std::string name_space;
  };
  detail::WorkFacts facts;
  Instant lease_until;
  std::optional<JobName> job{};  // none: not known without a read
};
// What a worker says of its attempt.
struct Said {
  enum class Kind : std::uint8_t { complete, fail, fail_for_good, pending, heartbeat, release };
  Kind kind = Kind::complete;
  std::int32_t code = 200;
  Payload data;
  std::uint64_t number = 0;  // of a pending answer: told again under the same number it counts once
  Duration lease{0};         // of a heartbeat
};

class Handouts {
 public:
  using Commit = std::function<void(store::Operation, std::function<void(Result<store::Outcome>)>)>;
  using Done = std::function<void(Status)>;
  // The references must outlive it.
  Handouts(store::JobStore& store, store::PoolInfo pool, Commit commit)
      : store_(store), pool_(pool), commit_(std::move(commit)) {}

  // What there is now, perhaps nothing.
  void take(const TakeRequest& request, std::function<void(Result<std::vector<TakenWork>>)> done);
  // conflict: the token is stale. The same last word once more, as after a lost response, is no conflict while this
  // process remembers it. May read the store, on the caller's thread.
  void say(const std::string& token, Said said, Done done);
  // Given to a worker in another way than by take().
  void remember(const core::WorkItem& item);

 private:
  struct Taking;
  void take_in(const std::shared_ptr<Taking>& taking);
  void end_take(const std::shared_ptr<Taking>& taking);
  std::size_t fitting(const TakeRequest& request, std::size_t left);
  void forget(const WorkRun& run);
  void note_answered(const WorkRun& run, Said::Kind kind);
  bool was_answered(const WorkRun& run, Said::Kind kind);
  // The request that an attempt answers, if it is remembered. `last`: it is answered for good, and not remembered any
  // more.
  std::optional<core::Guid> known_request(const WorkRun& run, bool last);
  Result<core::Guid> request_of(const WorkRun& run);

  store::JobStore& store_;
  const store::PoolInfo pool_;
  const Commit commit_;
  std::mutex mutex_;
  // What was taken here and not answered yet, so that an answer need not read it. Bounded: what is not here is read.
  std::unordered_map<WorkRun, core::Guid, WorkRunHash> out_;       // guarded by mutex_
  // The last ones. When the newer ones are too many, they take the place of the older ones. Guarded by mutex_.
  std::unordered_map<WorkRun, Said::Kind, WorkRunHash> answered_, answered_before_;
  std::uint32_t next_lane_ = 0;  // where the next one begins to look; guarded by mutex_
  std::size_t item_bytes_ = 0;   // of the items of the last claim, on average; guarded by mutex_
};

}  // namespace pawl::runtime
