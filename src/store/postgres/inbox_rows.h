// InboxRows: the messages that wait, and timers, of the entities that a group names; each guid once over both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class InboxRows {
 public:
  using Key = std::pair<RunId, core::Guid>;
  void want(RunId run, const core::Guid& guid) { wanted_.emplace(run, guid); }

  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = InboxRows(); }

  bool has(RunId run, const core::Guid& guid) const { return redeliveries_of(run, guid).has_value(); }
  std::optional<std::uint32_t> redeliveries_of(RunId run, const core::Guid& guid) const;
  // REQUIRES: !has(). How many bytes are stored.
  std::size_t put(RunId run, const core::Message& message, Instant due = {});
  void count_redelivery(RunId run, const core::Guid& guid);
  void drop(RunId run, const core::Guid& guid);  // whether or not it was read
  void sweep(RunId run, const std::optional<core::Guid>& keep);

 private:
  struct Row {
    std::uint32_t redeliveries = 0;
    Instant due;
    std::string body;         // of a new one
    std::uint64_t place = 0;  // likewise: order of arrival
  };
  struct Slot {
    bool stored = false;  // or perhaps: it is deleted before anything is put
    std::optional<Row> now;
    bool is_new = false;
    bool changed = false;
  };
  std::set<Key> wanted_;
  std::optional<std::size_t> at_;
  std::map<Key, Slot> slots_;
  std::map<RunId, std::optional<core::Guid>> swept_;
  std::uint64_t next_place_ = 0;
};

}  // namespace pawl::store::postgres
