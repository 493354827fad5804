// Crew: the threads that serve requests and may wait for the store. A few, with a bounded queue. Half of them are kept
// free of what takes long.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pawl::serve {

class Crew {
 public:
  Crew(std::size_t threads, std::size_t waiting_max);
  ~Crew() { close(); }

  using Task = std::function<void()>;
  enum class Length : std::uint8_t { normal, slow };
  bool take(Task task, Length length = Length::normal);  // false: too much waits already, or it is closed
  void finish(Task task);  // what was begun is finished, however much waits; dropped once it is closed
  void close();            // ends what runs; what waits is dropped

 private:
  void run();
  bool may_begin_slow() const { return !slow_.empty() && slow_running_ < slow_max_; }  // REQUIRES: mutex_ is held

  const std::size_t waiting_max_;
  const std::size_t slow_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // guarded by mutex_, like the rest
  std::deque<Task> slow_;
  std::size_t slow_running_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pawl::serve
