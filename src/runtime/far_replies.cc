#include "runtime/far_replies.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"
#include "store/rules.h"

namespace pawl::runtime {

namespace {

WorkRun run_of(const store::DeliverReply& reply) { return {WorkRef{reply.run, reply.activity}, reply.token}; }

bool is_of(const core::Delivery& delivery, const store::DeliverReply& reply) {
  return delivery.origin == core::Origin::unstored && delivery.message.guid == reply.message.guid;
}

// Only such a write makes the store compare the token.
bool names(const core::Bundle& bundle, const store::DeliverReply& reply) {
  return std::any_of(bundle.writes.begin(), bundle.writes.end(), [&](const core::Write& write) {
    if (const auto* drop = std::get_if<core::DropWork>(&write))
      return drop->activity == reply.activity && drop->token == reply.token;
    const auto* change = std::get_if<core::ChangeWork>(&write);
    return change != nullptr && change->activity == reply.activity && change->token == reply.token;
  });
}

}  // namespace

bool FarReplies::take(store::DeliverReply& reply, Ticket ticket) {
  const auto* said = std::get_if<core::Reply>(&reply.message.body);
  if (said == nullptr || said->activity != reply.activity || said->token != reply.token) return false;
  if (said->status == core::ReplyStatus::pending) {
    if (!interim_.insert(run_of(reply)).second) return false;
    interim_order_.push_back(run_of(reply));
    if (interim_order_.size() <= limits::submits_waiting_max) return false;
    interim_.erase(interim_order_.front());
    interim_order_.pop_front();
    return false;
  }
  // A failure is stored. Its item stays until the job has decided, so the token would not show that the same failure
  // was stored before, by another process that has not told this engine.
  if (said->status != core::ReplyStatus::success && !seeded(SeededBug::far_failure_unstored)) return false;
  OwnedLane* lane = parts_.lanes.mine(reply.run);
  HotJob* job = parts_.jobs.find(reply.run);
  if (lane == nullptr || lane->giving || parts_.stopping || job == nullptr) return false;
  if (const auto known = waiting_.find(reply.run); known != waiting_.end())
    for (Waiting& one : known->second)
      if (run_of(one.reply) == run_of(reply) && one.reply.message.guid == reply.message.guid) {
        one.tickets.push_back(ticket);
        return true;
      }
  if (!may_take(*job, reply)) return false;
  core::Delivery delivery{reply.message, core::Origin::unstored};
  if (seeded(SeededBug::far_reply_acked_early)) parts_.events.answered(std::exchange(ticket, 0), store::Outcome{});
  const RunId run = reply.run;
  waiting_[run].push_back({std::move(reply), {ticket}});
  parts_.jobs.deliver(*lane, run, std::move(delivery));
  return true;
}

// The store decides about all that is unusual. What waits there, or is being looked up, goes before this one.
bool FarReplies::may_take(const HotJob& job, const store::DeliverReply& reply) const {
  if (job.state.job.status != core::JobStatus::running || !job.damaged.empty() || job.suspect) return false;
  if (job.lookups > 0 || job.look_again || job.is_held() || interim_.contains(run_of(reply))) return false;
  const core::WorkItem* item = job.state.find_work(reply.activity);
  if (item == nullptr || item->held || item->life.unknown || store::awaits_decision(*item)) return false;
  if (reply.token == core::WorkToken(0)) return false;
  if (item->token != reply.token) return false;
  if (item->epoch != core::Epoch(0)) return false;
  if (reply.message.guid != item->request.derive(core::Guid::Purpose::response_final, 0)) return false;
  return std::none_of(job.queue.begin(), job.queue.end(), [&](const core::Delivery& delivery) {
    return delivery.message.guid == reply.message.guid || core::is_control(delivery.message.body);
  });
}

void FarReplies::committed(const HotJob& job, const core::Bundle& bundle) {
  const auto known = waiting_.find(bundle.entity);
  if (known == waiting_.end()) return;
  std::vector<Waiting>& all = known->second;
  for (const std::size_t index : job.decision.counted) {
    const auto one = std::find_if(all.begin(), all.end(), [&](const Waiting& waiting) {
      return is_of(job.queue[index], waiting.reply) && names(bundle, waiting.reply);
    });
    if (one == all.end()) continue;
    const std::vector<Ticket> tickets = std::move(one->tickets);
    all.erase(one);
    for (const Ticket ticket : tickets)
      if (ticket != 0) parts_.events.answered(ticket, store::Outcome{});
  }
  if (all.empty()) waiting_.erase(bundle.entity);
}

void FarReplies::look(HotJob& job) {
  const RunId run = job.state.job.run;
  if (waiting_.empty() || !waiting_.contains(run)) return;
  if (core::is_stopped(job.state.job.status)) return take_out(run, job.queue);
  std::vector<Waiting> gone;
  std::vector<Waiting>& all = waiting_.at(run);
  const auto waits = [&](const Waiting& one) {
    return std::any_of(job.queue.begin(), job.queue.end(),
                       [&](const core::Delivery& delivery) { return is_of(delivery, one.reply); });
  };
  const auto first_gone = std::stable_partition(all.begin(), all.end(), waits);
  gone.assign(std::make_move_iterator(first_gone), std::make_move_iterator(all.end()));
  all.erase(first_gone, all.end());
  if (all.empty()) waiting_.erase(run);
  for (Waiting& one : gone) store_instead(std::move(one));
}

void FarReplies::take_out(RunId run, std::vector<core::Delivery>& deliveries) {
  auto known = waiting_.extract(run);
  if (!known) return;
  for (Waiting& one : known.mapped()) {
    const auto delivery = std::find_if(deliveries.begin(), deliveries.end(), [&](const core::Delivery& waiting) {
      return is_of(waiting, one.reply);
    });
    if (delivery != deliveries.end()) deliveries.erase(delivery);
    store_instead(std::move(one));
  }
}

void FarReplies::lost(RunId run) {
  auto known = waiting_.extract(run);
  if (!known) return;
  for (Waiting& one : known.mapped()) store_instead(std::move(one));
}

void FarReplies::store_instead(Waiting waiting) {
  for (const Ticket ticket : waiting.tickets)
    if (ticket != 0) parts_.outgoing.push(waiting.reply, ticket);
}

void FarReplies::refuse(const Error& error) {
  std::vector<Ticket> tickets;
  for (auto& [run, all] : waiting_)
    for (Waiting& one : all) {
      tickets.insert(tickets.end(), one.tickets.begin(), one.tickets.end());
      one.tickets.clear();
    }
  std::sort(tickets.begin(), tickets.end());  // the same order on every machine: the simulator repeats its runs
  for (const Ticket ticket : tickets)
    if (ticket != 0) parts_.events.answered(ticket, error);
}

}  // namespace pawl::runtime
