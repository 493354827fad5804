// Connections: the connections of one address, each with one user at a time. A connection is opened when it is first
// needed. A lost one is never given out again. Every new session is checked, because the server may be another one than
// before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "pawl/result.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class Connections {
 public:
  // Checks a new session. The caller that asked for the connection gets its error.
  using Admit = std::function<Status(Connection&)>;
  Connections(Address address, std::size_t size, Admit admit)
      : address_(std::move(address)), size_(size), admit_(std::move(admit)) {}

  class Lease {
   public:
    Lease(Connections& from, std::unique_ptr<Connection> connection)
        : from_(&from), connection_(std::move(connection)) {}
    Lease(Lease&& other) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) from_->give_back(std::move(connection_));
    }
    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }

   private:
    Connections* from_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits while all connections are in use, or while the server accepts no more of them.
  Result<Lease> take();
  // Adds a connection that is already open.
  void add(std::unique_ptr<Connection> connection);
  const Address& address() const { return address_; }
  // Sums over all connections that were given back.
  Tally tally() const;

 private:
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> take_idle();  // REQUIRES: the mutex is held. Null: there is none
  Result<std::unique_ptr<Connection>> open() const;

  const Address address_;
  const std::size_t size_;
  const Admit admit_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t out_ = 0;
  Tally gone_;  // sums of the connections that were lost
};

}  // namespace pawl::store::postgres
