#include "runtime/worker_pool.h"

#include <pthread.h>

#include <exception>
#include <optional>

#include "base/format.h"
#include "base/limits.h"

namespace pawl::runtime {

namespace {

constexpr std::int32_t code_exception = 500;
constexpr std::int32_t code_too_large = 413;

// JSON text of a string: what an error reply carries.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.append(1, '\\').append(1, c);
    else if (static_cast<unsigned char>(c) < 0x20) out += format("\\u{:04x}", static_cast<unsigned>(c));
    else out.push_back(c);
  }
  return out + "\"";
}

bool fits(const Payload& data) { return data.size() <= limits::payload_bytes_max; }

Reply too_large(std::size_t bytes) {
  return Reply::error(quoted(format("the worker's output has {} bytes; at most {} are allowed (payload_bytes_max)",
                                    bytes, limits::payload_bytes_max)),
                      code_too_large);
}

// The one place where a worker's exceptions end.
Reply call(const Worker& worker, Work& work) {
  try {
    Reply reply = worker(work);
    return fits(reply.data()) ? std::move(reply) : too_large(reply.data().size());
  } catch (const std::exception& error) {
    return Reply::error(quoted(error.what()), code_exception);
  } catch (...) {
    return Reply::error(quoted("the worker threw something that is not a std::exception"), code_exception);
  }
}

}  // namespace

WorkerPool::WorkerPool(std::size_t threads, std::function<void(WorkAnswer)> answer) : answer_(std::move(answer)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    tasks_.clear();
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::give(std::vector<Task> tasks) {
  if (tasks.empty()) return;
  std::size_t wake = 0;
  {
    const std::lock_guard lock(mutex_);
    wake = std::min(sleeping_, tasks.size());
    for (Task& task : tasks) tasks_.push_back(std::move(task));
  }
  for (std::size_t i = 0; i < wake; ++i) ready_.notify_one();
}

void WorkerPool::serve() {
  pthread_setname_np(pthread_self(), "pawl-worker");
  std::unique_lock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !closing_) {
      ++sleeping_;
      ready_.wait(lock);
      --sleeping_;
    }
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    run(task);
    lock.lock();
  }
}

void WorkerPool::run(Task& task) {
  const core::WorkItem& item = task.item;
  WorkAnswer answer{item.run, item.activity, item.token, item.request};
  std::uint64_t pending = 0;
  std::optional<std::size_t> oversized;  // an interim answer that no store takes: the work fails for it
  const auto send_pending = [&](Payload data, std::int32_t code) {
    if (!fits(data)) oversized = data.size();
    if (oversized) return;
    WorkAnswer interim = answer;
    interim.status = core::ReplyStatus::pending;
    interim.code = code;
    interim.data = std::move(data);
    interim.pending_index = pending++;
    answer_(std::move(interim));
  };
  Work work(item.topic, item.run, item.request.text(), item.runs, item.input, send_pending);
  Reply reply = call(*task.worker, work);
  if (oversized) reply = too_large(*oversized);
  answer.status = reply.status() == Reply::Status::error ? core::ReplyStatus::error : core::ReplyStatus::success;
  answer.code = reply.code();
  answer.data = reply.data();
  answer_(std::move(answer));
}

}  // namespace pawl::runtime
