// The columns of a work item. All readers use one order.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/codec.h"
#include "core/job_state.h"
#include "store/postgres/rows.h"
#include "store/postgres/wire.h"

namespace pawl::store::postgres {

#define PAWL_ITEM_COLUMNS(table)                                                                             \
  table ".run, " table ".seq, " table ".topic, " table ".request, " table ".token, " table ".worker, " table \
        ".epoch, " table ".lease_until, " table ".runs, " table ".priority, " table ".visible_at, " table    \
        ".held, " table ".once, " table ".life, " table ".plain_key"
inline constexpr int work_columns = 15;  // the input follows them, where it is read

// The caller checks rows.malformed() afterwards.
inline core::WorkItem work_item(Rows& rows) {
  core::WorkItem item;
  item.run = RunId(rows.word(0));
  item.activity = core::ActivitySeq(rows.small(1));
  item.topic = Topic(std::string(rows.text(2)));
  item.request = rows.guid(3);
  item.token = core::WorkToken(rows.word(4));
  item.worker = std::string(rows.text(5));
  item.epoch = core::Epoch(rows.word(6));
  item.lease_until = rows.instant(7);
  item.runs = rows.small(8);
  item.priority = rows.integer(9);
  item.visible_at = rows.instant(10);
  item.held = rows.flag(11);
  if (!rows.is_null(13)) {
    auto life = core::decode_life(rows.bytes(13));
    if (life)
      item.life = std::move(*life);
    else
      rows.mark_malformed();
  }
  item.plain_key = rows.flag(14);
  if (rows.flag(12) != item.life.at_most_once) rows.mark_malformed();
  return item;
}

// NULL: all fields of the life have their default.
inline std::optional<std::string> stored_life(const core::WorkItem& item) {
  return item.life == core::WorkLife{} ? std::nullopt : std::optional(core::encode(item.life));
}

}  // namespace pawl::store::postgres
