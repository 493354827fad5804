// LocalRuntime: what callers ask of the engine's thread, and requests to jobs.
#include "runtime/local_runtime.h"

#include <future>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/bulk.h"
#include "runtime/bytes.h"
#include "runtime/kept_signals.h"
#include "runtime/parts.h"

namespace pawl::runtime {

template <class Answer>
Result<Answer> LocalRuntime::ask_engine(const std::function<Result<Answer>()>& direct,
                                        const std::function<Command(std::function<void(Result<Answer>)>)>& make) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid,
                 "an observer runs on the engine's thread and cannot wait for it: ask from another thread"};
  if (life_ == Life::made) {
    const std::lock_guard lock(direct_mutex_);
    if (life_ == Life::made) return direct();
  }
  std::promise<Result<Answer>> promise;
  auto future = promise.get_future();
  const auto given =
      give_command(make([&](Result<Answer> outcome) { promise.set_value(std::move(outcome)); }), ByteGate::Wait::yes);
  if (!given) return given.error();
  return future.get();
}

Result<store::Outcome> LocalRuntime::commit_request(store::Operation operation) {
  return ask_engine<store::Outcome>(
      [&]() -> Result<store::Outcome> {
        auto outcomes = store_.store->commit({&operation, 1});
        if (!outcomes) return outcomes.error();
        return std::move(outcomes->front());
      },
      [&](auto done) {
        return RequestCommand{std::move(operation), std::move(done)};
      });
}

void LocalRuntime::commit_later(store::Operation operation, std::function<void(Result<store::Outcome>)> done) {
  if (life_ == Life::made)
    return done(Error{ErrorCode::retry_later, "work is handed out once the runtime runs: launch() it"});
  if (const auto given = give_command(RequestCommand{std::move(operation), done}, ByteGate::Wait::no); !given)
    done(given.error());
}

// They are on their way together, and gather in the engine's groups.
CommitResults LocalRuntime::commit_requests(std::vector<store::Operation> operations) {
  if (std::this_thread::get_id() == engine_id_.load())
    return CommitResults(
        operations.size(),
        Error{ErrorCode::invalid,
              "an observer runs on the engine's thread and cannot wait for it: ask from another thread"});
  if (life_ == Life::made) {
    const std::lock_guard lock(direct_mutex_);
    if (life_ == Life::made && store_.store->spans_lanes()) return commit_in_one(*store_.store, operations);
  }
  std::vector<std::future<Result<store::Outcome>>> asked;
  for (store::Operation& operation : operations) {
    auto promise = std::make_shared<std::promise<Result<store::Outcome>>>();
    asked.push_back(promise->get_future());
    if (life_ == Life::made) {  // a group of such a store is of one lane
      promise->set_value(commit_request(std::move(operation)));
      continue;
    }
    const auto given = give_command(
        RequestCommand{std::move(operation),
                       [promise](Result<store::Outcome> outcome) { promise->set_value(std::move(outcome)); }},
        ByteGate::Wait::yes);
    if (!given) promise->set_value(given.error());
  }
  CommitResults results;
  for (auto& future : asked) results.push_back(future.get());
  return results;
}

Result<store::DuplexOutcome> LocalRuntime::commit_duplex_request(store::DuplexOperation operation) {
  return ask_engine<store::DuplexOutcome>([&] { return store_.duplex->commit_one(operation); },
                                          [&](auto done) {
                                            return DuplexCommand{std::move(operation), std::move(done)};
                                          });
}

std::size_t LocalRuntime::bytes_of_command(const Command& command) {
  if (const auto* submit = std::get_if<SubmitCommand>(&command)) return sizeof(Command) + submit->request.input.size();
  if (const auto* request = std::get_if<RequestCommand>(&command))
    return sizeof(Command) + bytes_of(request->operation);
  if (const auto* request = std::get_if<DuplexCommand>(&command)) return sizeof(Command) + bytes_of(request->operation);
  const auto* word = std::get_if<WorkerMessage>(&command);
  if (word == nullptr) return 0;
  if (const auto* answer = std::get_if<WorkReply>(word)) return sizeof(Command) + answer->data.size();
  if (const auto* answer = std::get_if<ProbeAnswer>(word)) return sizeof(Command) + answer->data.size();
  return sizeof(Command);
}

Status LocalRuntime::give_command(Command command, ByteGate::Wait wait) {
  const std::size_t bytes = bytes_of_command(command);
  // A request to a job, such as an interrupt, must get in even when nothing else does.
  const bool request =
      std::holds_alternative<RequestCommand>(command) || std::holds_alternative<DuplexCommand>(command);
  const bool light = request && bytes <= limits::light_request_bytes;
  if (light)
    gate_.add(bytes);
  else if (const auto pass = gate_.enter(bytes, wait); pass == ByteGate::Pass::closed)
    return stopped();
  else if (pass == ByteGate::Pass::full)
    return Error{ErrorCode::retry_later, no_room(options_.memory.waiting)};
  const auto taken = wait == ByteGate::Wait::yes
                         ? commands_.push_when_room(std::move(command), limits::submits_waiting_max)
                         : commands_.try_push(std::move(command), limits::submits_waiting_max);
  if (taken == CommandQueue<Command>::Taken::yes) return {};
  gate_.leave(bytes);
  if (taken == CommandQueue<Command>::Taken::closed) return stopped();
  return Error{ErrorCode::retry_later,
               format("{} commands wait already (submits_waiting_max)", limits::submits_waiting_max)};
}

void LocalRuntime::Door::tell(WorkerMessage word) {
  const auto* reply = std::get_if<WorkReply>(&word);
  // After an interim reply the worker goes on, perhaps for hours: its thread cannot owe anything to the engine.
  const bool returns = reply != nullptr && reply->status != core::ReplyStatus::pending;
  Command command(std::move(word));
  const bool room = gate.add(bytes_of_command(command));
  if (returns && room) {  // the worker's thread may have nothing else to do
    if (commands.push_quietly(std::move(command))) turn.owe();
    return;
  }
  commands.push(std::move(command));
  // The engine's thread reports attempts that were cancelled before they began. It never waits for itself.
  if (std::this_thread::get_id() != engine_id.load()) gate.wait_for_room();
}

Result<std::pair<RunId, std::string>> LocalRuntime::rerun(RunId run, const RerunOptions& options) {
  auto again = requests_.rerun(run, options);
  if (!again) return again.error();
  return std::pair(again->run, std::move(again->id));
}

CommitAll LocalRuntime::commit_all() {
  return [this](std::vector<store::Operation> operations) { return commit_requests(std::move(operations)); };
}

Result<BulkSummary> LocalRuntime::bulk(const JobFilter& filter, const BulkRequest& request,
                                       const BulkOptions& options) {
  if (const auto here = apps_.fetch_for(filter); !here) return here.error();
  if (request.verb == BulkVerb::signal)
    if (const auto known = apps_.mailboxes_for(request.topic, request.data);
        !known && known.error().code == ErrorCode::not_found)
      return known.error();
  return ask_many(*store_.store, graphs_, requests_, commit_all(), filter, request, options);
}

Result<std::vector<KeptSignal>> LocalRuntime::kept_signals(const KeptSignalFilter& filter) {
  return list_kept(*store_.store, filter, store_.store->now());
}

Status LocalRuntime::drop_signal(const std::string& id) { return drop_kept(*store_.store, lanes_, commit_all(), id); }

Result<std::uint64_t> LocalRuntime::drop_signals(const KeptSignalFilter& filter) {
  return drop_all_kept(*store_.store, lanes_, commit_all(), filter, store_.store->now());
}

Status LocalRuntime::set_retention(const RetentionRule& rule) {
  const auto set = retention_.set(rule);
  if (set) look_at_graphs();  // the notification that others get too
  return set;
}

Result<RetentionSummary> LocalRuntime::apply_retention(const RetentionOptions& options) {
  Retention::Pass pass;
  for (std::uint32_t i = 0; i < lanes_.lanes; ++i) pass.lanes.emplace_back(lanes_.first.raw() + i);
  pass.now = store_.store->now();
  pass.options = options;
  return retention_.apply(pass);
}

Result<std::vector<core::LaneId>> LocalRuntime::lanes_owned_here() {
  std::vector<core::LaneId> owned;
  if (!owns()) return owned;
  for (std::uint32_t i = 0; i < lanes_.lanes; ++i) {
    const auto lane = store_.store->read_lane(core::LaneId(lanes_.first.raw() + i));
    if (!lane) return lane.error();
    if (lane->owner == engine_.name()) owned.push_back(lane->lane);
  }
  return owned;
}

}  // namespace pawl::runtime
