// StartKeys: the ids that are taken, each with its run.
//
// Random ids belong to random pages. So that a new one does not cost a page that nobody has touched for a long time,
// the keys are in parts, in the order of their runs: a new key goes to the last part, which stays in memory. A search
// looks into every part, but most of them have a filter that denies the key. A full part gets its filter, a few rows in
// each commit, and the file keeps it.
//
// 1. A run's key is in part run >> part_bits, and nowhere else. When an id gets another run, its key moves.
// 2. A part below that of its lane's next run gets no new keys. Only then is a filter made for it. What is removed
//    later leaves the filter too large, never too small.
// 3. A filter only saves time: without one, or with a damaged one, the part is searched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "pawl/ids.h"
#include "pawl/time.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/key_filter.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

inline constexpr int part_bits = 17;
inline std::int64_t part_of(RunId run) { return static_cast<std::int64_t>(run.raw() >> part_bits); }

class StartKeys {
 public:
  struct Key {
    RunId run{0};        // 0: the id is free
    Instant expires_at;  // 0: its job is there
  };

  Status prepare(Connection& connection);
  void forget() { looked_ = false; }  // a transaction begins: others may have committed

  // Each returns a result code of SQLite.
  // What other processes may have changed, once in each transaction and before it removes a key: what it reads is
  // remembered, and a removal may be undone.
  int look();
  int find(const Namespace& name_space, const JobId& id, Key& found);
  // `old`: what find() said.
  int put(const Namespace& name_space, const JobId& id, RunId run, const Key& old);

 private:
  struct Part {
    std::int64_t number = 0;
    std::optional<KeyFilter> filter{};
    bool asked = false;    // the file was asked for its filter
    bool damaged = false;  // it cannot be read whole: no filter is made for it
  };
  // The part whose filter is being made, and how far it was read.
  struct Making {
    std::int64_t part = 0;
    KeyFilter filter;
    std::string name_space, id;  // the last key
  };

  int read_parts();
  int read_lanes(bool first);
  void note_part(std::int64_t number);
  int find_in(std::int64_t part, const Namespace& name_space, const JobId& id, Key& found);
  int get_filters();
  int load(Part& part);
  int make_some(Part& part, std::size_t rows_max);
  Bits128 hash_of(std::string_view name_space, std::string_view id) const;

  Bits128 file_;         // the identity of the file
  bool looked_ = false;  // in this transaction
  bool parts_known_ = false;
  std::vector<Part> parts_;                    // in their order
  std::map<std::int64_t, std::int64_t> open_;  // by lane: the first part that may still grow
  std::optional<Making> making_;
  Statement identity_, lanes_, next_part_, find_, put_, drop_, read_filter_, put_filter_, read_some_;
};

}  // namespace pawl::store::sqlite
