// CommitTimes: how long commits take, for whoever watches a process. Any thread may count and read.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace pawl::runtime {

class CommitTimes {
 public:
  static constexpr std::array<std::int64_t, 12> micros_up_to{100,    250,    500,    1'000,   2'500,   5'000,
                                                             10'000, 25'000, 50'000, 100'000, 250'000, 1'000'000};
  struct Figures {
    std::array<std::uint64_t, micros_up_to.size() + 1> counts{};  // not added up; the last one has no bound
    std::uint64_t micros = 0;
    std::uint64_t operations = 0;
  };

  void count(std::chrono::steady_clock::duration took, std::size_t operations) {
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    std::size_t at = 0;
    while (at < micros_up_to.size() && micros > micros_up_to[at]) ++at;
    counts_[at].fetch_add(1, std::memory_order_relaxed);
    micros_.fetch_add(static_cast<std::uint64_t>(micros), std::memory_order_relaxed);
    operations_.fetch_add(operations, std::memory_order_relaxed);
  }

  Figures read() const {
    Figures figures;
    for (std::size_t i = 0; i < counts_.size(); ++i) figures.counts[i] = counts_[i].load(std::memory_order_relaxed);
    figures.micros = micros_.load(std::memory_order_relaxed);
    figures.operations = operations_.load(std::memory_order_relaxed);
    return figures;
  }

 private:
  std::array<std::atomic<std::uint64_t>, micros_up_to.size() + 1> counts_{};
  std::atomic<std::uint64_t> micros_{0};
  std::atomic<std::uint64_t> operations_{0};
};

}  // namespace pawl::runtime
