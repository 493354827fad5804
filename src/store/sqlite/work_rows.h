// The columns of a work item, read in one order by the writer and the readers.
#pragma once

#include "core/job_state.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

// Columns: topic, request, token, worker, epoch, lease_until, runs, input. The caller asks
// rows.malformed() afterwards.
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
  return item;
}

}  // namespace pawl::store::sqlite
