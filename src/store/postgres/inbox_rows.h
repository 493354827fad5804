// InboxRows: the waiting messages and the timers of the entities that a group names. A guid exists once in both.
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
  // REQUIRES: !has(). Returns how many bytes are stored.
  std::size_t put(RunId run, const core::Message& message, Instant due = {});
  void count_redelivery(RunId run, const core::Guid& guid);
  void drop(RunId run, const core::Guid& guid);  // read or not
  void sweep(RunId run, const std::optional<core::Guid>& keep);

 private:
  struct Row {
    std::uint32_t redeliveries = 0;
    Instant due;
    std::string body;         // of a new message
    std::uint64_t place = 0;  // of a new message: order of arrival
  };
  struct Slot {
    bool stored = false;  // a row exists or may exist: it is deleted before a new one is put
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
