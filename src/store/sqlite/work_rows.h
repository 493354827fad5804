// The columns of a work item, read in one order by the writer and the readers.
#pragma once

#include <limits>
#include <string>

#include "core/codec.h"
#include "core/job_state.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

// Wherever the input is stored (input_writer.h). A payload that is missing there reads as NULL.
#define PAWL_INPUT                                                                                                   \
  "CASE WHEN input_at IS NULL THEN input"                                                                            \
  " WHEN input_at >= 0 THEN (SELECT o.output FROM activities o WHERE o.run = activities.run AND o.seq = "           \
  "activities.input_at)"                                                                                             \
  " ELSE (SELECT l.body FROM large_inputs l WHERE l.run = activities.run AND l.seq = activities.seq) END"
#define PAWL_WORK_COLUMNS                                                                                        \
  "topic, request, token, worker, epoch, lease_until, runs, " PAWL_INPUT ", priority, visible_at, held, once, life," \
  " plain_key, input_at"
inline constexpr int work_columns = 15;
inline constexpr int input_at_column = 14;
inline constexpr std::int64_t own_large_input = -1;  // stored as input_at
// What a row without a work item contains instead.
#define PAWL_NO_WORK                                                                                  \
  "position = NULL, topic = NULL, request = NULL, token = NULL, worker = NULL, epoch = NULL,"         \
  " lease_until = NULL, runs = NULL, input = NULL, input_at = NULL, priority = 0, visible_at = 0, held = 0, once = 0," \
  " plain_key = 0, wake_at = 0, life = NULL, unlisted = 0"

// The row of each activity that has a work item: those of the list, and the newest, where it may not be listed
// (work_list.h).
#define PAWL_UNLISTED "id >= (SELECT unlisted_from FROM store_state WHERE id = 1) AND unlisted = 1"
#define PAWL_OPEN_WORK                                                                                          \
  "(SELECT a.id AS item FROM work_list l CROSS JOIN activities a ON a.run = l.run AND a.seq = l.seq UNION ALL" \
  " SELECT id FROM activities WHERE " PAWL_UNLISTED ")"

// PAWL_WORK_COLUMNS. The caller checks rows.malformed() afterwards.
inline core::WorkItem work_item(Rows& rows, RunId run, core::ActivitySeq activity) {
  core::WorkItem item;
  item.run = run;
  item.activity = activity;
  item.topic = Topic(std::string(rows.text(0)));
  item.request = rows.guid(1);
  item.token = core::WorkToken(rows.word(2));
  item.worker = std::string(rows.text(3));
  item.epoch = core::Epoch(rows.word(4));
  item.lease_until = Instant::from_micros(rows.number(5));
  item.runs = rows.small(6);
  item.input = rows.payload(7);
  item.priority = rows.integer(8);
  item.visible_at = Instant::from_micros(rows.number(9));
  item.held = rows.number(10) != 0;
  if (!rows.is_null(12)) {
    auto life = core::decode_life(rows.bytes(12));
    if (life)
      item.life = std::move(*life);
    else
      rows.mark_malformed();
  }
  item.plain_key = rows.number(13) != 0;
  if (!rows.is_null(input_at_column) && item.input.empty()) rows.mark_malformed();  // no empty one is stored elsewhere
  if ((rows.number(11) != 0) != item.life.at_most_once) rows.mark_malformed();
  return item;
}

// What is stored of an item in addition to the columns of its claim. `life` is bound, so this must outlive the
// statement.
struct StoredLife {
  explicit StoredLife(const core::WorkItem& item) : wake_at(core::wake_of(item)), once(item.life.at_most_once) {
    if (item.life != core::WorkLife{}) bytes = core::encode(item.life);
  }
  std::optional<Blob> life() const { return bytes.empty() ? std::nullopt : std::optional(Blob{bytes}); }

  Instant wake_at;
  bool once;
  std::string bytes;  // empty: all fields have their defaults
};

}  // namespace pawl::store::sqlite
