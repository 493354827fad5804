#include <signal.h>

#include <thread>

#include "storm_run.h"

namespace storm {

namespace {

constexpr milliseconds takeover_time_max{1'000};
constexpr int kills_while_made = 12;  // before the first node runs long enough to make the file

class FileStorm final : public StormRun {
 public:
  using StormRun::StormRun;

 private:
  Problem storm_until_over() override {
    for (int i = 0; i < kills_while_made; ++i) kill_while_opening("a");
    while (!over()) {
      if (auto problem = one_kill()) return problem;
      show();
    }
    return std::nullopt;
  }

  Problem one_kill() {
    if (!first_ && chance(10)) {
      kill_while_opening("a");
      return std::nullopt;
    }
    if (!first_) {
      first_ = start_and_hear("a", "owns");
      if (!first_) return "a node did not start";
    }
    if (!second_ && chance(25)) {
      second_ = start(first_->slot() == "a" ? "b" : "a");
      if (!second_->wait_for("ready", start_time_max)) return "a second node did not start";
    }
    std::this_thread::sleep_for(milliseconds(between(20, 150)));
    if (chance(10)) {
      ++figures_.pauses;
      first_->send(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(between(5, 60)));
      if (chance(50)) first_->send(SIGCONT);  // otherwise it is killed while it is stopped
    }
    if (second_ && chance(25)) {
      strike(*second_);
      second_.reset();
      first_->send(SIGCONT);
      return std::nullopt;
    }
    strike(*first_);
    first_ = std::move(second_);
    return first_ ? await_takeover() : std::nullopt;
  }

  Problem await_takeover() {
    const auto begin = Clock::now();
    if (!first_->wait_for("owns", takeover_time_max)) return "the second node did not take over within a second";
    ++figures_.takeovers;
    figures_.slowest_takeover =
        std::max(figures_.slowest_takeover, std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
    return std::nullopt;
  }

  Problem stop_all() override {
    for (auto* node : {&first_, &second_}) {
      if (!*node) continue;
      if (auto problem = stop(**node)) return problem;
      node->reset();
    }
    return std::nullopt;
  }

  std::unique_ptr<NodeProcess> first_, second_;  // first: owns the lanes
};

}  // namespace

std::unique_ptr<StormRun> file_storm(const Options& options, StormStore& store) {
  return std::make_unique<FileStorm>(options, store);
}

}  // namespace storm
