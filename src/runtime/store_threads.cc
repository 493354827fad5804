#include "runtime/store_threads.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "base/invariant.h"
#include "runtime/commit_group.h"

namespace pawl::runtime {

StoreThreads::StoreThreads(store::Store& store, store::DuplexStore* duplex, CommitTimes& times, std::size_t threads,
                           std::function<void(Told)> tell, EngineTurn* turn)
    : store_(store), duplex_(duplex), times_(times), tell_(std::move(tell)), turn_(turn) {
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    end();
    throw;
  }
}

void StoreThreads::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void StoreThreads::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  ready_.notify_one();
}

bool StoreThreads::stand_in() {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= waiting_) return false;
    tasks_.emplace_back(StandIn{});
  }
  ready_.notify_one();
  return true;
}

EngineTurn::Borrower StoreThreads::borrower() {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() ? EngineTurn::Borrower::store : EngineTurn::Borrower::none;
}

void StoreThreads::run() {
  pthread_setname_np(pthread_self(), "pawl-store");
  for (;;) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    ready_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    --waiting_;
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    std::visit(Overloaded{
                   [this](Group& group) {
                     auto result = commit_group(store_, group, times_);
                     tell_(Committed{std::move(group), std::move(result)});
                   },
                   [this](ReadBatch& batch) {
                     auto answers = store_.read(batch.reads);
                     tell_(Answered{std::move(batch), std::move(answers)});
                   },
                   [this](DuplexBatch& batch) {
                     auto answers = carry_out(batch, *duplex_, store_);
                     tell_(CarriedOut{std::move(batch), std::move(answers)});
                   },
                   [this](StandIn) { turn_->owe(); },
               },
               task);
    if (turn_ != nullptr && turn_->is_owed()) turn_->settle([this] { return borrower(); });
  }
}

}  // namespace pawl::runtime
