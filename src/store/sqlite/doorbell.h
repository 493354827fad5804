// The doorbell: by it a process that does not own the lanes tells the one that does that it
// committed something. A datagram socket `<file>-bell`: no connection, no state, and nobody wakes
// while it is silent. A ring is a hint: a lost one delays, and what it was about is in the file.
//
// The socket may be deleted or never have been made (a full disk). So the owner watches it and the
// lock file `<file>-owner`: it makes a deleted socket anew, and whoever finds no socket touches the
// lock file instead.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "pawl/result.h"

namespace pawl::store::sqlite {

// The owner's side: a thread that calls `on_ring` for one or more rings. It ends with this object.
class Doorbell {
 public:
  // REQUIRES: this process holds the owner lock; a socket left by a dead owner is replaced. A
  // socket that cannot be made now is made later.
  static Result<std::unique_ptr<Doorbell>> listen(const std::string& database_path,
                                                  std::function<void()> on_ring);
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();

 private:
  Doorbell(std::string database_path, int events, int stop, std::function<void()> on_ring);
  void serve();
  bool in_place() const;  // the path leads to our socket
  bool hang();            // makes the socket; false: it cannot be made now
  void take_down();

  const std::string path_;  // of the database
  const int events_;        // inotify; -1: there is none to be had
  const int stop_;          // an eventfd
  const std::function<void()> on_ring_;
  // Of the thread.
  int socket_ = -1;
  int watch_ = -1;            // of the socket
  std::uint64_t inode_ = 0;  // of the socket's path
  std::thread thread_;
};

// The other side. Never blocks and never fails loudly: without an owner there is nobody to tell.
class Ringer {
 public:
  explicit Ringer(std::string database_path) : path_(std::move(database_path)) {}
  Ringer(const Ringer&) = delete;
  Ringer& operator=(const Ringer&) = delete;
  ~Ringer();

  bool ring();  // whether an owner's socket took it; else the lock file was touched

 private:
  const std::string path_;
  int socket_ = -1;
};

}  // namespace pawl::store::sqlite
