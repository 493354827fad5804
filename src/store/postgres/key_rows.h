// KeyRows: the start keys that a group names: which run has an id. A key belongs to the lane that it hashes to. The
// transaction that holds this lane's numbers, or the run that has the key, may change it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/time.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

struct KeyRow {
  RunId run{0};
  Instant expires_at;  // 0: its job exists
};

class KeyRows {
 public:
  using Key = std::pair<Namespace, JobId>;
  void want(const Namespace& name_space, const JobId& id) { wanted_.emplace(name_space, id); }

  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void forget() { *this = KeyRows(); }

  const KeyRow* find(const Namespace& name_space, const JobId& id) const;
  void put(const Namespace& name_space, const JobId& id, RunId run);
  // Ends the key of a removed job: the key stays until then (0: it is deleted too), unless another run has it.
  void end(const Namespace& name_space, const JobId& id, RunId run, Instant until);
  // The state of an ended key is known only after it is read again.
  bool is_ended(const Namespace& name_space, const JobId& id) const { return ended_.contains({name_space, id}); }

 private:
  struct Slot {
    std::optional<KeyRow> stored;
    std::optional<KeyRow> now;
    bool changed = false;
  };
  std::set<Key> wanted_;
  std::optional<std::size_t> at_;
  std::map<Key, Slot> slots_;
  std::map<Key, std::map<RunId, Instant>> ended_;  // until when
};

}  // namespace pawl::store::postgres
