#include "runtime/handouts.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/request_checks.h"
#include "runtime/token.h"
#include "runtime/user_call.h"
#include "store/read.h"

namespace pawl::runtime {

namespace {

constexpr std::size_t handouts_remembered_max = 65'536;
constexpr std::size_t answers_remembered_max = 16'384;

Error stale_token(std::string_view why) {
  return {ErrorCode::conflict, format("the token is no longer good: {}", why)};
}

// What the store made of a worker's word.
Status become_of(const Result<store::Outcome>& outcome) {
  if (!outcome) return outcome.error();
  switch (outcome->kind) {
    case store::OutcomeKind::committed:
    case store::OutcomeKind::already_done:
      return {};
    case store::OutcomeKind::conflict:
      return stale_token("the work was answered, taken back, given to another, or its job has ended");
    case store::OutcomeKind::over_limit:
      return Error{ErrorCode::over_limit, outcome->reason};
    case store::OutcomeKind::outcome_unknown:
      return Error{ErrorCode::outcome_unknown, outcome->reason};
    default:
      return Error{ErrorCode::invalid, outcome->reason};
  }
}

core::ReplyStatus reply_status(Said::Kind kind) {
  switch (kind) {
    case Said::Kind::fail:
      return core::ReplyStatus::error;
    case Said::Kind::fail_for_good:
      return core::ReplyStatus::fatal;
    case Said::Kind::pending:
      return core::ReplyStatus::pending;
    default:
      return core::ReplyStatus::success;
  }
}

bool ends_attempt(Said::Kind kind) {
  return kind == Said::Kind::complete || kind == Said::Kind::fail || kind == Said::Kind::fail_for_good;
}

Status check_take(const TakeRequest& request) {
  if (request.topics.empty()) return Error{ErrorCode::invalid, "name at least one topic"};
  for (const std::string& topic : request.topics)
    if (const auto named = check_name("topic", topic); !named) return named;
  if (request.worker.size() > limits::name_bytes_max)
    return Error{ErrorCode::invalid, format("the worker's name has more than {} bytes", limits::name_bytes_max)};
  return check_duration("lease", request.lease, Zero::refused);
}

}  // namespace

// A store whose lanes are apart is asked lane by lane, beginning with another one each time.
struct Handouts::Taking {
  TakeRequest request;
  std::vector<TakenWork> taken;
  std::uint32_t lane = 0;
  std::uint32_t lanes_left = 1;
  std::function<void(Result<std::vector<TakenWork>>)> done;
};

void Handouts::take(const TakeRequest& request, std::function<void(Result<std::vector<TakenWork>>)> done) {
  if (const auto checked = check_take(request); !checked) return done(checked.error());
  auto taking = std::make_shared<Taking>();
  taking->request = request;
  taking->done = std::move(done);
  if (!store_.spans_lanes()) {
    const std::lock_guard lock(mutex_);
    taking->lane = next_lane_++ % pool_.lanes;
    taking->lanes_left = pool_.lanes;
  }
  take_in(taking);
}

void Handouts::take_in(const std::shared_ptr<Taking>& taking) {
  store::ClaimWork claim;
  for (const std::string& topic : taking->request.topics) claim.topics.emplace_back(topic);
  claim.items_max = fitting(taking->request, taking->request.items_max - taking->taken.size());
  claim.worker = taking->request.worker;
  claim.lease = taking->request.lease;
  if (!store_.spans_lanes()) claim.lane = core::LaneId(pool_.first.raw() + taking->lane);
  commit_(std::move(claim), [this, taking](Result<store::Outcome> outcome) {
    // What was taken in lanes before counts, whatever becomes of this one.
    if (!outcome && taking->taken.empty()) return taking->done(outcome.error());
    if (outcome && !outcome->done() && taking->taken.empty()) return taking->done(become_of(outcome).error());
    if (outcome && outcome->done())
      for (const core::WorkItem& item : outcome->items()) {
        remember(item);
        taking->taken.push_back({facts_of(item, store_.id()), item.lease_until});
      }
    taking->lane = (taking->lane + 1) % pool_.lanes;
    if (--taking->lanes_left == 0 || !outcome || taking->taken.size() >= taking->request.items_max)
      return end_take(taking);
    take_in(taking);
  });
}

// Not more items than probably fit, judged by the last ones.
std::size_t Handouts::fitting(const TakeRequest& request, std::size_t left) {
  const std::lock_guard lock(mutex_);
  if (request.bytes_max == 0 || item_bytes_ == 0) return left;
  return std::clamp<std::size_t>(request.bytes_max / item_bytes_, 1, left);
}

// What is too much goes back, as if its worker had released it.
void Handouts::end_take(const std::shared_ptr<Taking>& taking) {
  std::vector<TakenWork>& taken = taking->taken;
  std::size_t bytes = 0, fit = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    bytes += taken[i].facts.input.size() + taken[i].facts.progress.size();
    if (i == 0 || taking->request.bytes_max == 0 || bytes <= taking->request.bytes_max) fit = i + 1;
  }
  if (!taken.empty()) {
    const std::lock_guard lock(mutex_);
    item_bytes_ = bytes / taken.size();
  }
  for (std::size_t i = fit; i < taken.size(); ++i)
    say(taken[i].facts.token, Said{.kind = Said::Kind::release}, [](const Status&) {});
  taken.resize(fit);
  taking->done(std::move(taken));
}

void Handouts::remember(const core::WorkItem& item) {
  const std::lock_guard lock(mutex_);
  if (out_.size() >= handouts_remembered_max) out_.erase(out_.begin());
  out_.insert_or_assign(run_of(item), item.request);
}

void Handouts::forget(const WorkRun& run) {
  const std::lock_guard lock(mutex_);
  out_.erase(run);
}

void Handouts::note_answered(const WorkRun& run, Said::Kind kind) {
  const std::lock_guard lock(mutex_);
  if (answered_.size() >= answers_remembered_max) answered_before_ = std::exchange(answered_, {});
  answered_.insert_or_assign(run, kind);
}

bool Handouts::was_answered(const WorkRun& run, Said::Kind kind) {
  const std::lock_guard lock(mutex_);
  if (const auto found = answered_.find(run); found != answered_.end()) return found->second == kind;
  const auto found = answered_before_.find(run);
  return found != answered_before_.end() && found->second == kind;
}

std::optional<core::Guid> Handouts::known_request(const WorkRun& run, bool last) {
  const std::lock_guard lock(mutex_);
  const auto known = out_.find(run);
  if (known == out_.end()) return std::nullopt;
  const core::Guid request = known->second;
  if (last) out_.erase(known);
  return request;
}

Result<core::Guid> Handouts::request_of(const WorkRun& run) {
  const auto item = answer_to(store_, store::ReadItem{run.ref.run, run.ref.activity});
  if (!item) return item.error();
  if (!*item) return stale_token("the work was answered, or its job has ended");
  if ((*item)->token != run.token) return stale_token("the work was taken back, and perhaps given to another");
  return (*item)->request;
}

void Handouts::say(const std::string& token, Said said, Done done) {
  const auto named = parse_token(token, store_.id());
  if (!named) return done(named.error());
  const WorkRun run = *named;
  if (const auto checked = check_payload("the data", said.data); !checked) return done(checked);
  const auto answered = [done = std::move(done)](const Result<store::Outcome>& outcome) { done(become_of(outcome)); };
  if (said.kind == Said::Kind::heartbeat) {
    if (const auto checked = check_duration("lease", said.lease, Zero::refused); !checked)
      return answered(checked.error());
    store::ExtendWork extend{run.ref.run, run.ref.activity, run.token, said.lease};
    if (!said.data.empty()) extend.progress = std::move(said.data);  // a bare heartbeat leaves what was said before
    return commit_(std::move(extend), answered);
  }
  if (said.kind == Said::Kind::release) {
    forget(run);
    return commit_(store::ReleaseWork{run.ref.run, run.ref.activity, run.token}, answered);
  }
  const bool final = ends_attempt(said.kind);
  auto request = known_request(run, final);
  if (!request) {
    if (final && was_answered(run, said.kind)) return answered(store::Outcome{});
    const auto read = request_of(run);
    if (!read) return answered(read.error());
    request = *read;
  }
  const core::Guid guid = final ? request->derive(core::Guid::Purpose::response_final, 0)
                                : request->derive(core::Guid::Purpose::response_pending, said.number);
  core::Reply response{run.ref.activity, reply_status(said.kind), said.code, run.token, std::move(said.data)};
  commit_(store::DeliverReply{run.ref.run, run.ref.activity, run.token, core::Message{guid, std::move(response)}},
          [this, run, final, kind = said.kind, answered](const Result<store::Outcome>& outcome) {
            if (final && outcome && outcome->done()) note_answered(run, kind);
            answered(outcome);
          });
}

}  // namespace pawl::runtime
