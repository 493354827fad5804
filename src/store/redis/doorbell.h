// Doorbell: receives notifications of what others commit. Every script that changes something publishes on one channel:
// the sender, the lane, and which runs changed. A separate connection listens. While it was down anything may have been
// missed, so when it is back its listeners are told that everything may have changed.
//
// Threads: has one thread; all calls from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/notification.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

// A notification as it is sent: "<sender> <lane> -<flags> <run> <run> ...".
struct Ring {
  std::string sender;
  core::LaneId lane{0};
  Change change;
};
std::string ring_text(const Ring& ring);
std::optional<Ring> parse_ring(std::string_view text);

class Doorbell {
 public:
  // `is_for_us`: whether a notification for this lane concerns this store. The references must outlive it.
  Doorbell(Servers& servers, std::string channel, std::string sender, std::function<bool(core::LaneId)> is_for_us);
  ~Doorbell();

  void listen(Listener& listener);
  void stop_listening(Listener& listener);
  void ring(core::LaneId lane, const Change& change);

 private:
  void run();
  void receive(std::string_view text);
  void tell(const Change& change);
  bool wait(std::chrono::milliseconds time);  // true: it is over

  Servers& servers_;
  const std::string channel_;
  const std::string sender_;
  const std::function<bool(core::LaneId)> is_for_us_;

  std::mutex mutex_;  // guards what is below
  std::condition_variable changed_;
  bool over_ = false;
  bool subscribed_ = false;
  std::vector<Listener*> listeners_;
  std::vector<std::pair<core::LaneId, Change>> outgoing_;  // for the sending thread
  std::thread thread_;
  std::thread ringer_;
  void run_ringer();
  std::mutex listeners_mutex_;  // held while they are called: stop_listening waits for that
};

}  // namespace pawl::store::redis
