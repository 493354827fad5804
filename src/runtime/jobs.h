// Jobs: the jobs in memory, what is decided for them, and the outcomes.
//
// A job is loaded by a submit or by the loader, gets deliveries, has its turn, is decided, and its bundle is sent. When
// the outcome is known, the job applies it, hands on what follows, and becomes idle or has its next turn.
//
// 1. A job has at most one bundle on its way.
// 2. Nothing leaves the engine (work, messages, its end) before the commit that caused it is known to be durable.
// 3. After an unknown outcome the job is forgotten and read again; nothing is added twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bundles.h"
#include "runtime/engine_types.h"
#include "runtime/hot_jobs.h"
#include "runtime/outgoing.h"
#include "runtime/owned_lane.h"
#include "runtime/turns.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Jobs final : public Decider {
 public:
  Jobs(Parts& parts, const EngineOptions& options)
      : parts_(parts), hot_(options.hot_jobs_max, options.bytes_max.hot_jobs) {}

  HotJob* find(RunId run) { return hot_.find(run); }
  const HotJob* find(RunId run) const { return hot_.find(run); }
  HotJob& add(core::JobState state, std::shared_ptr<const Graph> graph) {
    return hot_.add(std::move(state), std::move(graph));
  }
  // A message for a job of this lane, in memory or not.
  void deliver(OwnedLane& lane, RunId run, core::Delivery delivery);
  // It has something to decide.
  void make_ready(HotJob& job);
  // No bundle of it is on its way: it becomes ready again or idle, or is dropped. The caller must not look at it again.
  void rest(HotJob& job);
  // A message that was read joins the queue. One that made earlier engines crash makes its job a suspect.
  void queue(HotJob& job, core::Delivery delivery);
  // Something of it is being read: nothing is decided for it until release().
  void hold(HotJob& job);
  HotJob* release(RunId run);  // none: it was forgotten meanwhile
  // A message for it is being looked up. The job stays in memory until then: it would be read again only for that
  // message.
  void begin_lookup(HotJob& job);
  void end_lookup(RunId run);
  // Something that it needs cannot be read now: treated as if the job itself could not be read.
  void set_aside(HotJob& job);
  void forget(RunId run);
  void forget_lane(core::LaneId lane);
  // Forgets the jobs of the lane that have no unstored changes. True: that was all of them.
  bool put_away(core::LaneId lane);
  // Stops it with this reason.
  void park(OwnedLane& lane, HotJob& job, std::string reason);
  // The deliveries that are not stored: they exist only here.
  static std::vector<core::Delivery> take_unstored(HotJob& job);

  // Sends a submit. In a lane of this engine the first step of the job is decided at once, under the number that the
  // run will probably have, and stands behind the submit in the same group: a start costs one commit.
  void submit(store::Submit submit, const std::shared_ptr<const Graph>& graph, Ticket ticket);
  void submits_refused();  // the store takes no writes: they were answered, and made no runs
  void decide_ready();  // as many as fit the group, and one turn
  // Sends its bundle to the store, in a group or with a worker's transaction.
  void launch(HotJob& job, core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction = nullptr);
  // A bundle waits for the group before it, and again when the store takes no writes. A job ends when its end is
  // committed, not when it was decided; its keep time begins then.
  void stamp_ends(Group& group);
  void settle_submit(const store::Submit& submit, const store::Outcome& outcome, Ticket ticket);
  bool came_back(const core::Bundle& bundle) override;
  void absorb(const core::Bundle& bundle) override;
  void withdraw(const core::Bundle& bundle) override;
  void read_again(core::Bundle bundle) override;
  void refused(const core::Bundle& bundle, const std::string& reason) override;

  void committed_in(Duration took) { turns_.committed_in(took); }
  void stop() { turns_.never_rest(); }

  std::size_t waiting() const { return turns_.waiting(); }  // for their turn
  bool has_ready() const { return turns_.has_ready(); }
  std::optional<Duration> next_wake() const { return turns_.next_wake(); }
  std::size_t size() const { return hot_.size(); }
  std::size_t busy_bytes() const { return hot_.busy_bytes(); }
  std::size_t idle_bytes() const { return hot_.idle_bytes(); }

 private:
  enum class With : bool { nothing, submit };
  void decide(HotJob& job, With with = With::nothing);
  void hand_on(HotJob& job, const core::Bundle& bundle);
  void park_rejected(RunId run, const std::string& reason, store::AnswerTo<store::ReadJob> stored);
  bool may_leave(HotJob& job) const;
  void suspect_served(RunId run);
  void begin(OwnedLane& lane, const store::Submit& submit, RunId run);
  HotJob& open(const store::Submit& submit, RunId run, std::shared_ptr<const Graph> graph);
  void learn_number(OwnedLane& lane, const store::Submit& submit, const store::Outcome& outcome);
  void forget_first_step(const store::Submit& submit);

  Parts& parts_;
  HotJobs hot_;
  Turns turns_{hot_};
};

}  // namespace pawl::runtime
