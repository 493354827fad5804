// The doorbell: by it a process that does not own the lanes tells the one that does that it
// committed something. A datagram socket `<file>-bell`: no connection, no state, and nobody wakes
// while it is silent. A ring is a hint: a lost one delays, and what it was about is in the file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "pawl/result.h"

namespace pawl::store::sqlite {

// The owner's side: a thread that calls `on_ring` for one or more rings. It ends with this object.
class Doorbell {
 public:
  // REQUIRES: this process holds the owner lock; a socket left by a dead owner is replaced.
  static Result<std::unique_ptr<Doorbell>> listen(const std::string& database_path,
                                                  std::function<void()> on_ring);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();

 private:
  Doorbell(int socket, int stop, std::function<void()> on_ring);
  void serve();

  const int socket_;
  const int stop_;  // an eventfd
  const std::function<void()> on_ring_;
  std::thread thread_;
};

// The other side. Never blocks and never fails loudly: without an owner there is nobody to tell.
class Ringer {
 public:
  explicit Ringer(std::string database_path) : path_(std::move(database_path)) {}
  Ringer(const Ringer&) = delete;
  Ringer& operator=(const Ringer&) = delete;
  ~Ringer();

  bool ring();  // whether an owner's socket took it

 private:
  const std::string path_;
  int socket_ = -1;
};

}  // namespace pawl::store::sqlite
