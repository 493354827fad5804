#include "store/postgres/connections.h"

#include "store/postgres/limits.h"

namespace pawl::store::postgres {

std::unique_ptr<Connection> Connections::take_idle() {
  while (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (!connection->is_lost()) return connection;
  }
  return nullptr;
}

Result<std::unique_ptr<Connection>> Connections::open() const {
  auto opened = Connection::open(address_);
  if (!opened) return opened.error();
  const auto admitted = admit_(**opened);
  if (!admitted) return admitted.error();
  return opened;
}

Result<Connections::Lease> Connections::take() {
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !idle_.empty() || out_ < size_; });
    ++out_;
    if (auto idle = take_idle()) return Lease(*this, std::move(idle));
  }
  auto opened = open();
  if (opened) return Lease(*this, std::move(*opened));
  std::unique_lock lock(mutex_);
  // The server may not accept another connection. If others are in use, wait for one of them.
  if (out_ > 1) freed_.wait_for(lock, limits::connect_wait, [this] { return !idle_.empty() || out_ == 1; });
  if (auto idle = take_idle()) return Lease(*this, std::move(idle));
  --out_;
  freed_.notify_one();
  return opened.error();
}

void Connections::add(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

void Connections::give_back(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  --out_;
  if (!connection->is_lost()) {
    idle_.push_back(std::move(connection));
  } else {
    gone_.round_trips += connection->tally().round_trips;
    gone_.statements += connection->tally().statements;
  }
  freed_.notify_one();
}

Tally Connections::tally() const {
  const std::lock_guard lock(mutex_);
  Tally all = gone_;
  for (const auto& connection : idle_) {
    all.round_trips += connection->tally().round_trips;
    all.statements += connection->tally().statements;
  }
  return all;
}

}  // namespace pawl::store::postgres
