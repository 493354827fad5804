#include "sim/explorer_state.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/random.h"
#include "core/apply.h"
#include "core/codec.h"
#include "core/secret.h"
#include "sim/model.h"
#include "sim/trace.h"

namespace pawl::sim {

namespace {
constexpr Duration lease = std::chrono::seconds(1);
const core::LaneId the_lane{1};

std::string owner_name(std::size_t engine) { return format("e{}", engine); }
}  // namespace

std::string describe(const Action& action) {
  static constexpr const char* names[] = {"acquires",
                                          "loads",
                                          "decides",
                                          "commits",
                                          "commits, reply lost",
                                          "crashes",
                                          "crashes with a commit on its way",
                                          "lease expires",
                                          "is answered",
                                          "is answered again",
                                          "claims",
                                          "late commit arrives"};
  return format("e{} {} {}", action.engine, names[static_cast<std::size_t>(action.kind)], action.index);
}

ExplorerState::ExplorerState(ExplorerWorld& world)
    : world_(&world),
      store_(world.clock),
      hands_(world.options.engines),
      crashes_(world.options.crashes),
      expiries_(world.options.expiries),
      lost_replies_(world.options.lost_replies),
      repeated_answers_(world.options.repeated_answers) {
  commit(store::OpenPool{Pool("graphs"), 1});
  WantedJob wanted;
  wanted.id = "j";
  wanted.graph = world.options.graph;
  store::Submit submit;
  submit.name_space = default_namespace();
  submit.id = JobId("j");
  submit.lane = the_lane;
  submit.graph = runtime::ref_of(*world.graph);
  submit.input = input_of(wanted);
  world.run = commit(submit).run();
  refresh();
}

store::Outcome ExplorerState::commit(store::Operation operation) {
  world_->clock.set(Duration(time_));
  auto outcomes = store_.commit({&operation, 1});
  refresh();
  return std::move((*outcomes)[0]);
}

void ExplorerState::refresh() {
  store::memory::Dump dump = store_.dump();
  if (!dump.jobs.empty()) dump_ = std::move(dump.jobs.front());
  if (!dump.lanes.empty()) epoch_ = dump.lanes.front().epoch.raw();
}

store::memory::DumpedJob ExplorerState::job() const { return dump_; }

bool ExplorerState::lane_held() const {
  return std::any_of(hands_.begin(), hands_.end(),
                     [&](const Hand& hand) { return hand.epoch != 0 && hand.epoch == epoch_; });
}

bool ExplorerState::may_claim(const Hand& hand, const core::WorkItem& item) const {
  for (const WorkerRun& run : hand.running)
    if (run.item.activity == item.activity && run.item.token == item.token) return false;
  const auto answered = [&](const core::Delivery& delivery) {
    const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
    return reply != nullptr && reply->activity == item.activity && reply->token == item.token;
  };
  return std::none_of(hand.queue.begin(), hand.queue.end(), answered);
}

std::vector<Action> ExplorerState::enabled() const {
  using Kind = Action::Kind;
  std::vector<Action> actions;
  for (std::size_t i = 0; i < hands_.size(); ++i) {
    const Hand& hand = hands_[i];
    const auto add = [&](Kind kind, std::size_t index = 0) {
      actions.push_back({kind, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(index)});
    };
    if (hand.epoch == 0 && !lane_held()) add(Kind::acquire);
    if (hand.epoch != 0 && hand.epoch == epoch_ && expiries_ > 0 && !ended()) add(Kind::expire);
    const bool wanted = row().status == core::JobStatus::running || !dump_.inbox.empty();
    if (hand.epoch != 0 && !hand.job && wanted) add(Kind::load);
    if (hand.job && !hand.flight && !hand.queue.empty()) add(Kind::decide);
    if (hand.flight) {
      add(Kind::commit);
      if (lost_replies_ > 0) add(Kind::commit_reply_lost);
      if (crashes_ > 0) add(Kind::crash_in_flight);
    }
    if (crashes_ > 0 && (hand.epoch != 0 || hand.flight) && !ended()) add(Kind::crash);
    for (std::size_t r = 0; r < hand.running.size(); ++r)
      if (hand.job) {
        add(Kind::answer, r);
        if (repeated_answers_ > 0) add(Kind::answer_again, r);
      }
    if (hand.job && !hand.flight)
      for (std::size_t w = 0; w < dump_.work.size(); ++w)
        if (may_claim(hand, dump_.work[w])) add(Kind::claim, w);
  }
  for (std::size_t g = 0; g < ghosts_.size(); ++g)
    actions.push_back({Kind::ghost_arrives, 0, static_cast<std::uint8_t>(g)});
  return actions;
}

void ExplorerState::drop_job(Hand& hand) {
  // Replies without a row exist only in memory: they stay until the job is read again.
  std::erase_if(hand.queue, [](const core::Delivery& d) { return d.origin != core::Origin::unstored; });
  hand.job.reset();
  hand.flight.reset();
  hand.decision = {};
}

void ExplorerState::lose_lane(Hand& hand) {
  drop_job(hand);
  hand.queue.clear();
  hand.running.clear();  // their replies would be refused
  hand.epoch = 0;
}

void ExplorerState::absorb(Hand& hand) {
  const core::Bundle bundle = std::move(*hand.flight);
  hand.flight.reset();
  core::apply(*hand.job, bundle);
  for (const std::size_t index : hand.decision.entered) {
    hand.queue[index].entered = true;
    ++hand.queue[index].redeliveries;
  }
  std::vector<core::Delivery> left;
  for (std::size_t i = 0; i < hand.queue.size(); ++i)
    if (std::count(hand.decision.done.begin(), hand.decision.done.end(), i) == 0) left.push_back(hand.queue[i]);
  hand.queue = std::move(left);
  hand.decision = {};
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutMessage>(&write))
      hand.queue.push_back(core::Delivery{put->message, core::Origin::memory});
    const auto* work = std::get_if<core::PutWork>(&write);
    if (work != nullptr && hand.job->find_work(work->item.activity) != nullptr) hand.running.push_back({work->item});
  }
  if (hand.queue.empty() && core::is_closed(hand.job->job.status)) hand.job.reset();
}

void ExplorerState::take(const Action& action) {
  using Kind = Action::Kind;
  Hand& hand = hands_[action.engine];
  switch (action.kind) {
    case Kind::acquire: {
      time_ += 2 * lease.count();  // no living engine holds it: its lease has run out
      const auto outcome = commit(store::AcquireLane{the_lane, owner_name(action.engine), lease});
      if (outcome.kind == store::OutcomeKind::committed) hand.epoch = outcome.epoch().raw();
      return;
    }
    case Kind::expire: {
      --expiries_;
      time_ += 2 * lease.count();
      // An engine that is not the owner may take it now; the owner does not know.
      const std::size_t taker = (action.engine + 1) % hands_.size();
      if (hands_[taker].flight) return;
      const auto outcome = commit(store::AcquireLane{the_lane, owner_name(taker), lease});
      if (outcome.kind != store::OutcomeKind::committed) return;
      lose_lane(hands_[taker]);
      hands_[taker].epoch = outcome.epoch().raw();
      return;
    }
    case Kind::load: {
      auto stored = store_.read_job(world_->run);
      std::vector<core::Delivery> unstored = std::move(hand.queue);
      hand.queue.clear();
      hand.job = (**stored).state;
      for (core::InboxMessage& message : (**stored).inbox)
        hand.queue.push_back(core::Delivery{std::move(message.message), core::Origin::loaded, message.redeliveries});
      for (core::Delivery& delivery : unstored) hand.queue.push_back(std::move(delivery));
      return;
    }
    case Kind::decide: {
      core::DecideOptions options;
      options.fusion = world_->options.fusion;
      options.epoch = core::Epoch(hand.epoch);
      hand.decision = core::decide(*hand.job, *world_->graph, hand.queue, options);
      if (!hand.decision.bundle) {
        hand.flight.reset();
        std::vector<core::Delivery> left;
        for (std::size_t i = 0; i < hand.queue.size(); ++i)
          if (std::count(hand.decision.done.begin(), hand.decision.done.end(), i) == 0) left.push_back(hand.queue[i]);
        hand.queue = std::move(left);
        return;
      }
      hand.flight = std::move(*hand.decision.bundle);
      hand.decision.bundle.reset();
      for (core::Write& write : hand.flight->writes)
        if (auto* put = std::get_if<core::PutWork>(&write)) {
          put->item.runs = 1;
          put->item.token = core::token_of(put->item.request, 1);
          put->item.worker = owner_name(action.engine);
          put->item.epoch = core::Epoch(hand.epoch);
        }
      // The name of a bundle depends on its content and its engine: equal states stay equal.
      hand.flight->id = core::BundleId((Random::mix(hash_of(core::encode(*hand.flight)) + action.engine) >> 1) | 1);
      return;
    }
    case Kind::commit:
    case Kind::commit_reply_lost: {
      const auto outcome = commit(*hand.flight);
      if (action.kind == Kind::commit_reply_lost) {
        --lost_replies_;
        return drop_job(hand);
      }
      if (outcome.done()) return absorb(hand);
      if (outcome.kind == store::OutcomeKind::fenced) return lose_lane(hand);
      return drop_job(hand);
    }
    case Kind::crash_in_flight:
      ghosts_.push_back(*hand.flight);
      [[fallthrough]];
    case Kind::crash:
      --crashes_;
      hand = Hand{};
      return;
    case Kind::ghost_arrives: {
      const core::Bundle ghost = ghosts_[action.index];
      ghosts_.erase(ghosts_.begin() + action.index);
      commit(ghost);
      return;
    }
    case Kind::answer:
    case Kind::answer_again: {
      WorkerRun& run = hand.running[action.index];
      const std::string topic = run.item.topic.raw();
      const Behaviour& behaviour = world_->scenario->behaviour(topic);
      const bool pending = run.reply < behaviour.pendings;
      const auto data = reply_data(topic, run.item.input.view(), behaviour,
                                   pending ? std::optional<std::uint32_t>(run.reply) : std::nullopt);
      using Purpose = core::Guid::Purpose;
      const core::Guid guid = pending ? run.item.request.derive(Purpose::response_pending, run.reply)
                                      : run.item.request.derive(Purpose::response_final, 0);
      hand.queue.push_back(core::Delivery{
          core::Message{guid, core::Reply{run.item.activity, pending ? core::ReplyStatus::pending : behaviour.status,
                                          pending ? 202 : behaviour.code, run.item.token, data}},
          core::Origin::unstored});
      if (action.kind == Kind::answer_again)
        --repeated_answers_;
      else if (pending)
        ++run.reply;
      else
        hand.running.erase(hand.running.begin() + action.index);
      return;
    }
    case Kind::claim: {
      const core::WorkItem item = dump_.work[action.index];
      const auto outcome = commit(
          store::ClaimItem{item.run, item.activity, item.token, owner_name(action.engine), core::Epoch(hand.epoch)});
      if (outcome.kind == store::OutcomeKind::fenced) return lose_lane(hand);
      if (outcome.kind != store::OutcomeKind::committed) return drop_job(hand);
      if (hand.job) {
        std::erase_if(hand.running, [&](const WorkerRun& run) { return run.item.activity == item.activity; });
        hand.job->put(outcome.items().front());
      }
      hand.running.push_back({outcome.items().front()});
      return;
    }
  }
}

bool ExplorerState::ended() const {
  return core::is_closed(row().status) && row().completions == 1 && dump_.inbox.empty() && dump_.work.empty();
}

std::string ExplorerState::key() const {
  std::string text =
      format("{}|{} {} {} {} {}|", epoch_, crashes_, expiries_, lost_replies_, repeated_answers_, row().rev.raw());
  text +=
      format("{} {} {} {}|", static_cast<int>(row().status), row().semaphore, row().completions, row().bundle.raw());
  for (const core::Activity& a : dump_.activities) text += format("{}@{}={} ", a.node, a.at.text(), a.ledger.encode());
  for (const core::MessageRecord& r : dump_.records) text += format("{:x}={} ", r.guid.low, r.ledger.encode());
  for (const core::WorkItem& w : dump_.work)
    text += format("{}:{:x}:{} ", w.activity.raw(), w.token.raw(), w.epoch.raw());
  for (const core::InboxMessage& m : dump_.inbox) text += format("{:x}/{} ", m.message.guid.low, m.redeliveries);
  for (const core::Bundle& ghost : ghosts_) text += format("ghost {:x} ", ghost.id.raw());
  for (const Hand& hand : hands_) {
    text += format("|{} {}", hand.epoch, hand.job ? hand.job->job.rev.raw() + 1 : 0);
    if (hand.job)
      for (const core::WorkItem& w : dump_.work)
        if (const core::WorkItem* known = hand.job->find_work(w.activity)) text += format(" k{:x}", known->token.raw());
    if (hand.flight) text += format(" f{:x}", hand.flight->id.raw());
    for (const core::Delivery& d : hand.queue) {
      const auto* reply = std::get_if<core::Reply>(&d.message.body);
      text += format(" {:x}.{}.{}.{}.{:x}", d.message.guid.low, static_cast<int>(d.origin), d.redeliveries, d.entered,
                     reply == nullptr ? 0 : reply->token.raw());
    }
    for (const WorkerRun& run : hand.running) text += format(" w{:x}.{}", run.item.token.raw(), run.reply);
  }
  return text;
}

}  // namespace pawl::sim
