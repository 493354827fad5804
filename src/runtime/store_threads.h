// StoreThreads: send groups and reads to a remote store, as many at a time as it has connections. Outcomes are reported
// in the order of the replies. Each thread waits for one call; the engine waits for none. While the engine's thread
// sleeps, these threads do its work (engine_turn.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <variant>
#include <vector>

#include "runtime/commit_times.h"
#include "runtime/duplex_batch.h"
#include "runtime/engine_turn.h"
#include "runtime/outgoing.h"
#include "runtime/reads.h"

namespace pawl::runtime {

class StoreThreads {
 public:
  struct Committed {
    Group group;
    Result<std::vector<store::Outcome>> result;
  };
  struct Answered {
    ReadBatch batch;
    std::vector<store::ReadAnswer> answers;
  };
  struct CarriedOut {
    DuplexBatch batch;
    DuplexAnswers answers;
  };
  using Told = std::variant<Committed, Answered, CarriedOut>;

  // `tell` is called by these threads. The store and `times` must outlive this object; without `duplex` it gets no
  // DuplexBatch, and without `turn` its threads do no work of the engine.
  // Throws std::system_error if a thread cannot be created.
  StoreThreads(store::Store& store, store::DuplexStore* duplex, CommitTimes& times, std::size_t threads,
               std::function<void(Told)> tell, EngineTurn* turn = nullptr);
  ~StoreThreads() { end(); }
  StoreThreads(const StoreThreads&) = delete;
  StoreThreads& operator=(const StoreThreads&) = delete;

  void push(Group group) { push(Task(std::move(group))); }
  void push(ReadBatch batch) { push(Task(std::move(batch))); }
  void push(DuplexBatch batch) { push(Task(std::move(batch))); }
  // One of the threads takes the engine's turn. False: all of them have something to do.
  bool stand_in();
  // Finishes what was pushed; then there are no threads.
  void end();

 private:
  struct StandIn {};
  using Task = std::variant<Group, ReadBatch, DuplexBatch, StandIn>;
  void push(Task task);
  void run();
  EngineTurn::Borrower borrower();

  store::Store& store_;
  store::DuplexStore* const duplex_;
  CommitTimes& times_;
  const std::function<void(Told)> tell_;
  EngineTurn* const turn_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Task> tasks_;   // guarded by mutex_
  std::size_t waiting_ = 0;  // threads; guarded by mutex_
  bool ending_ = false;      // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace pawl::runtime
