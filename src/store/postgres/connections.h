// Connections: those of one address, each with one user at a time. They are made when they are first needed; one that
// was lost is not given out again. Every new one is looked at: the server may be another one than before.
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
  // What admits a new session; an error of it is told to whoever wanted the connection.
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

  // Waits while all of them are in use; also when the server has no room for one more.
  Result<Lease> take();
  // One that is there already.
  void add(std::unique_ptr<Connection> connection);
  const Address& address() const { return address_; }
  // Of all connections that were given back.
  Tally tally() const;

 private:
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> take_idle();  // REQUIRES: the mutex is held. Null: there is none
  Result<std::unique_ptr<Connection>> open() const;

  const Address address_;
  const std::size_t size_;
  const Admit admit_;
  mutable std::mutex mutex_;  // guards what is below
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t out_ = 0;
  Tally gone_;  // of those that were lost
};

}  // namespace pawl::store::postgres
