// RemovalWriter: deletes what is left of a closed job: all of its rows, and its id when its time is over.
#pragma once

#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/inbox_writer.h"
#include "store/sqlite/job_writer.h"
#include "store/sqlite/work_list.h"

namespace pawl::store::sqlite {

class RemovalWriter {
 public:
  // The references must outlive it.
  RemovalWriter(InboxWriter& inbox, JobWriter& jobs, WorkList& list) : inbox_(inbox), jobs_(jobs), list_(list) {}
  Status prepare(Connection& connection);

  Applied apply(const RemoveJob& remove);
  Applied apply(const DropKeys& drop);

 private:
  InboxWriter& inbox_;
  JobWriter& jobs_;
  WorkList& list_;
  Statement read_ended_, drop_job_, drop_activities_, drop_inputs_, drop_packed_, drop_records_, drop_labels_;
  Statement drop_announcements_;
  Statement end_start_key_, drop_start_key_, drop_old_keys_, drop_filters_;
};

}  // namespace pawl::store::sqlite
