#include "store/sqlite/start_keys.h"

#include <algorithm>
#include <cstring>

#include "store/sqlite/limits.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

constexpr int lane_bits = core::run_sequence_bits - part_bits;  // of a part's number, below its lane

// What is damaged is done without. After any other failure SQLite may have ended the transaction: it must not go on.
int unless_damaged(int code) { return fault_of(code) == Fault::poison ? SQLITE_OK : code; }

}  // namespace

Status StartKeys::prepare(Connection& connection) {
  auto prepared = prepare_each(
      connection,
      {
          {&identity_, "SELECT store_id FROM store_state WHERE id = 1"},
          {&lanes_, "SELECT lane, next_run FROM lanes"},
          {&next_part_, "SELECT min(part) FROM start_keys WHERE part > ?1"},
          {&find_, "SELECT run, expires_at FROM start_keys WHERE part = ?1 AND namespace = ?2 AND job_id = ?3"},
          {&put_,
           "INSERT INTO start_keys (part, namespace, job_id, run) VALUES (?1, ?2, ?3, ?4)"
           " ON CONFLICT DO UPDATE SET run = excluded.run, expires_at = 0"},
          {&drop_, "DELETE FROM start_keys WHERE part = ?1 AND namespace = ?2 AND job_id = ?3 AND run = ?4"},
          {&read_filter_, "SELECT filter FROM key_filters WHERE part = ?1"},
          {&put_filter_, "INSERT OR REPLACE INTO key_filters (part, filter) VALUES (?1, ?2)"},
          {&read_some_,
           "SELECT namespace, job_id FROM start_keys WHERE part = ?1 AND (namespace, job_id) > (?2, ?3)"
           " ORDER BY namespace, job_id LIMIT ?4"},
      });
  if (!prepared) return prepared;
  Rows rows = identity_.query();
  if (rows.next()) {
    const core::Guid id = rows.guid(0);
    file_ = {id.high, id.low};
  }
  if (rows.failed()) return connection.error(rows.rc(), "read");
  return {};
}

Bits128 StartKeys::hash_of(std::string_view name_space, std::string_view id) const {
  SipHash hash(file_);
  hash.add(name_space.size());
  std::string_view rest = name_space;
  for (int text = 0;; ++text) {
    for (; rest.size() >= 8; rest.remove_prefix(8)) {
      std::uint64_t word = 0;
      std::memcpy(&word, rest.data(), sizeof word);
      hash.add(word);
    }
    if (text == 1) return hash.finish(rest);
    std::uint64_t word = 0;
    if (!rest.empty()) std::memcpy(&word, rest.data(), rest.size());
    hash.add(word);
    rest = id;
  }
}

int StartKeys::look() {
  if (looked_) return SQLITE_OK;
  const bool first = !parts_known_;
  int code = first ? read_parts() : SQLITE_OK;
  if (code == SQLITE_OK) code = read_lanes(first);
  if (code != SQLITE_OK) return code;
  looked_ = true;
  return get_filters();
}

int StartKeys::read_parts() {
  std::vector<Part> parts;
  for (std::int64_t last = -1;;) {
    Rows rows = next_part_.query(last);
    const bool more = rows.next() && !rows.is_null(0);
    if (rows.failed()) return rows.rc();
    if (!more) break;
    last = rows.number(0);
    parts.push_back(Part{last});
  }
  parts_ = std::move(parts);
  parts_known_ = true;
  return SQLITE_OK;
}

// Others may have filled several parts since the last look. `first`: all that are not empty are known already.
int StartKeys::read_lanes(bool first) {
  Rows rows = lanes_.query();
  while (rows.next()) {
    const std::int64_t lane = rows.number(0);
    const std::int64_t last = part_of(core::make_run(core::LaneId(rows.small(0)), rows.word(1)));
    const auto known = open_.find(lane);
    const std::int64_t unknown = known != open_.end() ? known->second : first ? last : lane << lane_bits;
    for (std::int64_t part = unknown; part <= last; ++part) note_part(part);
    open_[lane] = last;
  }
  return rows.failed() ? rows.rc() : SQLITE_OK;
}

void StartKeys::note_part(std::int64_t number) {
  const auto place = std::lower_bound(parts_.begin(), parts_.end(), number,
                                      [](const Part& part, std::int64_t other) { return part.number < other; });
  if (place == parts_.end() || place->number != number) parts_.insert(place, Part{number});
}

int StartKeys::find_in(std::int64_t part, const Namespace& name_space, const JobId& id, Key& found) {
  Rows rows = find_.query(part, name_space, id);
  if (rows.next()) found = {RunId(rows.word(0)), Instant::from_micros(rows.number(1))};
  return rows.failed() ? rows.rc() : SQLITE_OK;
}

int StartKeys::find(const Namespace& name_space, const JobId& id, Key& found) {
  found = {};
  if (const int code = look(); code != SQLITE_OK) return code;
  const Bits128 hash = hash_of(name_space.raw(), id.raw());
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    if (part->filter && !part->filter->may_have(hash)) continue;
    const int code = find_in(part->number, name_space, id, found);
    if (code != SQLITE_OK || found.run != RunId(0)) return code;
  }
  return SQLITE_OK;
}

int StartKeys::put(const Namespace& name_space, const JobId& id, RunId run, const Key& old) {
  const std::int64_t part = part_of(run);
  if (old.run != RunId(0) && part_of(old.run) != part)
    if (drop_.run(part_of(old.run), name_space, id, old.run) == Statement::failed) return drop_.code();
  note_part(part);  // this transaction may be the first to reach it
  return put_.run(part, name_space, id, run) == Statement::failed ? put_.code() : SQLITE_OK;
}

// A few at a time, so that no commit takes much longer for it. What fails here is not tried again.
int StartKeys::get_filters() {
  Part* without = nullptr;
  std::size_t loads = 0;
  std::size_t missing = 0;
  for (Part& part : parts_) {
    const auto open = open_.find(part.number >> lane_bits);
    if (part.filter || part.damaged || open == open_.end() || part.number >= open->second) continue;
    if (!part.asked && loads++ < limits::filters_per_commit)
      if (const int code = load(part); code != SQLITE_OK) return code;
    if (!part.asked || part.filter) continue;
    if (without == nullptr) without = &part;
    ++missing;
  }
  if (without == nullptr) return SQLITE_OK;
  return make_some(*without, missing == 1 ? limits::filter_rows_per_commit : limits::filter_rows_per_commit_behind);
}

int StartKeys::load(Part& part) {
  part.asked = true;
  Rows rows = read_filter_.query(part.number);
  if (rows.next()) part.filter = KeyFilter::parse(rows.bytes(0), file_);
  return rows.failed() ? unless_damaged(rows.rc()) : SQLITE_OK;
}

int StartKeys::make_some(Part& part, std::size_t rows_max) {
  if (!making_ || making_->part != part.number)
    making_.emplace(Making{part.number, KeyFilter(std::size_t{1} << part_bits), {}, {}});
  Making& making = *making_;
  std::size_t count = 0;
  int code = SQLITE_OK;
  {
    const std::string name_space = making.name_space;
    const std::string id = making.id;
    Rows rows = read_some_.query(part.number, name_space, id, rows_max);
    for (; rows.next(); ++count) {
      making.name_space = rows.text(0);
      making.id = rows.text(1);
      making.filter.add(hash_of(making.name_space, making.id));
      part.damaged = part.damaged || rows.malformed();
    }
    if (rows.failed()) code = rows.rc();
  }
  if (fault_of(code) == Fault::poison || fault_of(code) == Fault::unreadable) part.damaged = true;
  if (!part.damaged && (code != SQLITE_OK || count == rows_max)) return code;
  if (!part.damaged) {
    const std::string bytes = making.filter.text(file_);
    // Should that fail, the next start makes it again.
    if (put_filter_.run(part.number, Blob{bytes}) == Statement::failed) code = put_filter_.code();
    part.filter = std::move(making.filter);
  }
  making_.reset();
  return unless_damaged(code);
}

}  // namespace pawl::store::sqlite
