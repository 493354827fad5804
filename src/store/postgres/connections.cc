#include "store/postgres/connections.h"

#include <optional>

namespace pawl::store::postgres {

Result<Connections::Lease> Connections::take() {
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !idle_.empty() || out_ < size_; });
    ++out_;
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (!connection->is_lost()) return Lease(*this, std::move(connection));
    }
  }
  auto opened = Connection::open(address_);
  if (opened) return Lease(*this, std::move(*opened));
  const std::lock_guard lock(mutex_);
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
