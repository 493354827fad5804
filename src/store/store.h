// Store: all that a store is asked for, by who needs it. Whoever needs less takes less.
#pragma once

#include "store/catalogue.h"
#include "store/job_store.h"
#include "store/notification.h"
#include "store/queries.h"
#include "store/read.h"

namespace pawl::store {

class Store : public JobStore, public Catalogue, public Queries, public Notification {
 public:
  // Answers the first ones, at least one, in their order; the caller asks for the rest again. Together the answers have
  // no more bytes than limits::read_answers_bytes and one more answer. A store that is far away overrides it.
  virtual std::vector<ReadAnswer> read(std::span<const Read> reads) { return answer_each(*this, reads); }
};

}  // namespace pawl::store
