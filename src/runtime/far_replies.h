// FarReplies: successes of workers in other processes, for jobs that this engine has in memory. Such a reply goes into
// the job's next bundle, as a local worker's does, and its sender is answered when that bundle is durable. One commit
// instead of two. The bundle names the item's token, so the store refuses it if the item has another one, or is gone
// because the same reply was stored before.
//
// Whatever does not go as usual (the job is dropped, paused or read again, the lane is lost, the bundle is refused, the
// reply is stale) ends with the stored way: DeliverReply, whose outcome is the answer.
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/decide.h"
#include "runtime/engine_types.h"
#include "runtime/hot_jobs.h"
#include "runtime/work_desk.h"
#include "store/operation.h"

namespace pawl::runtime {

struct Parts;

class FarReplies {
 public:
  explicit FarReplies(Parts& parts) : parts_(parts) {}

  // False: it must be stored, and `reply` is as it was.
  bool take(store::DeliverReply& reply, Ticket ticket);
  // The bundle of the job is committed; its decision is still there. Those that it counts are answered.
  void committed(const HotJob& job, const core::Bundle& bundle);
  // The job rests: those that no longer wait in its queue, or wait in vain because it is stopped, are stored.
  void look(HotJob& job);
  // These deliveries leave a job that is read again: replies among them are stored instead.
  void take_out(RunId run, std::vector<core::Delivery>& deliveries);
  void lost(RunId run);  // the job is dropped from memory
  // The store takes no writes now: nobody waits longer for it.
  void refuse(const Error& error);

  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    store::DeliverReply reply;
    std::vector<Ticket> tickets;  // the same reply may be sent again
  };
  bool may_take(const HotJob& job, const store::DeliverReply& reply) const;
  void store_instead(Waiting waiting);

  Parts& parts_;
  std::unordered_map<RunId, std::vector<Waiting>> waiting_;
  // Attempts whose interim replies are stored, the last ones: their final reply must not overtake these. More of them
  // than can be on their way to the store at once.
  std::unordered_set<WorkRun, WorkRunHash> interim_;
  std::deque<WorkRun> interim_order_;
};

}  // namespace pawl::runtime
