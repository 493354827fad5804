// Transactions: replies that come with the worker's writes. Each is decided alone, and its bundle is committed by that
// same transaction. If the commit fails, the reply is dropped with it, and the work is attempted again. So both
// happened, or neither.
//
// A store with one writer commits nothing else while a transaction is open. Then its job is held: nothing is decided
// for it that could only be committed after the reply.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/hot_jobs.h"
#include "runtime/outgoing.h"
#include "runtime/owned_lane.h"
#include "runtime/work_desk.h"

namespace pawl::runtime {

struct Parts;

class Transactions {
 public:
  explicit Transactions(Parts& parts) : parts_(parts) {}

  // The reply of this attempt is about to be delivered.
  void keep(const WorkRun& run, std::shared_ptr<store::OpenTransaction> transaction);
  void drop(const WorkRun& run) { kept_.erase(run); }  // its reply is lost, so its writes are rolled back

  // False: something of its job is on its way to the store and has to arrive first.
  bool hold(RunId run);
  void release(RunId run);

  // How many of the job's deliveries, from the first, are to be decided as usual: 0 while it is held. None: a reply
  // with a transaction was decided here, and the job may be gone.
  std::optional<std::size_t> left_to_decide(OwnedLane& lane, HotJob& job);
  // The outcome of the group's bundle. None: it is settled.
  std::optional<store::Outcome> came_back(Group& group, const Result<std::vector<store::Outcome>>& result);

 private:
  bool is_kept(RunId run, const core::Delivery& delivery) const;
  std::shared_ptr<store::OpenTransaction> take(const WorkRun& run);
  void decide(OwnedLane& lane, HotJob& job);
  void do_not_take(OwnedLane& lane, HotJob& job, const core::Bundle& bundle);
  void fail(const core::Bundle& bundle, const core::Delivery& answer, const std::string& why);

  Parts& parts_;
  std::map<WorkRun, std::shared_ptr<store::OpenTransaction>> kept_;
  std::set<RunId> held_;
};

}  // namespace pawl::runtime
