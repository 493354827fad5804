// Store: everything that a store does, split by caller. A caller takes only the part that it needs.
#pragma once

#include "store/catalogue.h"
#include "store/job_store.h"
#include "store/notification.h"
#include "store/queries.h"
#include "store/read.h"

namespace pawl::store {

class Store : public JobStore, public Catalogue, public Queries, public Notification {
 public:
  // Answers the first reads, at least one, in order; the caller asks for the rest again. Together the answers have at
  // most limits::read_answers_bytes plus one more answer. A remote store overrides it.
  virtual std::vector<ReadAnswer> read(std::span<const Read> reads) { return answer_each(*this, reads); }
};

}  // namespace pawl::store
