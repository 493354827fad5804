#include "runtime/duplex_runner.h"

#include "base/format.h"
#include "base/limits.h"
#include "duplex/later.h"
#include "ledger/duplex_state.h"
#include "runtime/views.h"

namespace pawl::runtime {

DuplexRunner::DuplexRunner(const Setup& setup, const Clock& clock, const GraphCatalog& graphs, EngineEvents& events,
                           Observers<Event>& observers)
    : duplex_(setup.store), clock_(clock), graphs_(graphs), events_(events), observers_(observers) {
  if (duplex_ == nullptr) return;
  duplex::EngineOptions options;
  options.seed = setup.seed;
  options.bytes_max = setup.memory.waiting;
  options.work_bytes_max = setup.memory.worker_queue;
  engine_.emplace(
      options, *duplex_, clock_, [this](const core::GraphRef& ref) { return graphs_.find(ref); },
      static_cast<duplex::Events&>(*this));
}

Status DuplexRunner::admits(const Graph& graph) const {
  if (graph.collation() != Collation::duplex || duplex_ != nullptr) return {};
  return Error{
      ErrorCode::unsupported,
      format("graph {} has collation duplex, and this store keeps no jobs of that kind; use collation ledger, or "
             "a store that does (a SQLite file, :memory:)",
             graph.name().raw())};
}

std::shared_ptr<const Graph> DuplexRunner::graph_of(const SubmitRequest& request) const {
  return request.version ? graphs_.find(*request.version) : graphs_.newest(request.graph);
}

bool DuplexRunner::takes(const SubmitRequest& request) const {
  const auto graph = graph_of(request);
  return engine_ && graph != nullptr && graph->collation() == Collation::duplex;
}

void DuplexRunner::submit(SubmitRequest request, core::LaneId lane, Ticket ticket) {
  const bool plain = request.reuse == store::Reuse::never && request.delay.count() == 0 &&
                     request.end_within.count() == 0 && !request.keep && request.priority == 0;
  if (!plain)
    return events_.submitted(
        ticket,
        Error{ErrorCode::unsupported,
              format("graph {} has collation duplex: reuse, delay, end_within, keep and priority need collation "
                     "ledger",
                     request.graph.raw())});
  const auto graph = graph_of(request);
  engine_->submit(store::StartDuplex{std::move(request.name_space), std::move(request.id), lane, ref_of(*graph),
                                     std::move(request.input), clock_.now(), request.secret},
                  ticket);
}

void DuplexRunner::own(std::vector<duplex::OwnedLane> lanes) {
  if (engine_) engine_->own(std::move(lanes));
}
void DuplexRunner::serve(const Topic& topic) {
  if (engine_) engine_->serve(topic);
}
void DuplexRunner::add_slots(std::size_t count) {
  if (engine_) engine_->add_slots(count);
}
void DuplexRunner::look() {
  if (engine_) engine_->look();
}
void DuplexRunner::stop() {
  if (engine_) engine_->stop();
}

void DuplexRunner::request(store::DuplexOperation operation, Done done) {
  if (!engine_) return done(Error{ErrorCode::unsupported, "this store keeps no jobs of collation duplex"});
  asked_.emplace(next_ticket_, std::move(done));
  engine_->ask(std::move(operation), next_ticket_++);
}

void DuplexRunner::answered(Ticket ticket, Result<store::DuplexOutcome> outcome) {
  if (auto asked = asked_.extract(ticket)) asked.mapped()(std::move(outcome));
}

void DuplexRunner::refuse_requests(const Error& error) {
  for (auto& [ticket, done] : std::exchange(asked_, {})) done(error);
}

bool DuplexRunner::answer(const WorkReply& answer) {
  if (!engine_) return false;
  // Duplex has no retries, so a fatal error is like any other.
  const auto status = core::is_error(answer.status) ? core::ReplyStatus::error : answer.status;
  if (status != core::ReplyStatus::pending) running_.erase(WorkRun{WorkRef{answer.run, answer.activity}, answer.token});
  return engine_->answer(answer.request, duplex::Answer{status, answer.code, answer.data});
}

bool DuplexRunner::give_back(const core::WorkItem& item) {
  running_.erase(run_of(item));
  return engine_ && engine_->give_back(item.request);
}

bool DuplexRunner::write_off(const WorkRun& run) {
  const auto found = running_.find(run);
  return found != running_.end() && engine_->write_off(found->second);
}

bool DuplexRunner::leave(const WorkRun& run, Duration within) {
  const auto found = running_.find(run);
  if (found == running_.end()) return false;
  const core::Guid request = found->second;
  running_.erase(found);
  return engine_->leave(request, within);
}

void DuplexRunner::leave_runs() {
  running_.clear();
  if (engine_) engine_->leave_runs();
}

void DuplexRunner::add_reads(DuplexBatch& batch) {
  batch.asking = engine_->asking();
  if (batch.asking.size() > limits::bundles_per_group_max) batch.asking.resize(limits::bundles_per_group_max);
  for (const auto step : batch.asking) {
    batch.reads.push_back(engine_->question(step));
    engine_->send(step);
  }
  batch.ended = std::exchange(ended_, {});
}

std::optional<DuplexBatch> DuplexRunner::take_reads() {
  if (!engine_ || is_out_) return std::nullopt;
  DuplexBatch batch;
  add_reads(batch);
  if (batch.empty()) return std::nullopt;
  is_out_ = true;
  return batch;
}

std::optional<DuplexBatch> DuplexRunner::take_batch() {
  if (!engine_ || is_out_) return std::nullopt;
  DuplexBatch batch;
  batch.committing = engine_->ready();
  if (batch.committing.size() > limits::bundles_per_group_max) batch.committing.resize(limits::bundles_per_group_max);
  for (const auto step : batch.committing) {
    batch.operations.push_back(engine_->operation(step));
    engine_->send(step);
  }
  add_reads(batch);
  if (batch.empty()) return std::nullopt;
  is_out_ = true;
  return batch;
}

void DuplexRunner::carried_out(const DuplexBatch& batch, DuplexAnswers answers) {
  is_out_ = false;
  for (std::size_t i = 0; i < batch.committing.size(); ++i) {
    if (answers.outcomes)
      engine_->settle(batch.committing[i], std::move((*answers.outcomes)[i]));
    else
      engine_->settle(batch.committing[i], answers.outcomes.error());
  }
  for (std::size_t i = 0; i < batch.asking.size(); ++i)
    engine_->settle_read(batch.asking[i], std::move(answers.reads[i]));
  for (const auto& row : answers.rows)
    if (row && *row) tell_end(**row);  // else the waiting caller reads the store again
}

void DuplexRunner::dispatch(const duplex::HeldRequest& request, const core::JobRow& job) {
  core::WorkItem item;
  item.run = request.hand.run;
  item.topic = request.body.topic;
  item.request = request.hand.guid;
  item.plain_key = !core::is_set(job.secret);
  item.runs = request.hand.deliveries;
  item.token = duplex::token_of(request.hand);
  item.input = request.body.data;
  running_.insert_or_assign(run_of(item), item.request);
  events_.dispatch(item);
}

void DuplexRunner::submitted(Ticket ticket, Result<duplex::Started> result) {
  if (result)
    events_.submitted(ticket, Submitted{result->run, result->created});
  else
    events_.submitted(ticket, result.error());
}

void DuplexRunner::changed(const core::JobRow& job, const Graph& graph, const duplex::Change& change) {
  if (!observers_.any()) return;
  Event event;
  event.job = job.id;
  event.run = job.run;
  event.name_space = job.name_space;
  event.graph = job.graph.name;
  event.at = clock_.now();
  using Kind = duplex::Change::Kind;
  switch (change.kind) {
    case Kind::job_started:
      break;
    case Kind::activity_opened:
      event.kind = Event::Kind::activity_opened;
      break;
    case Kind::activity_pending:
      event.kind = Event::Kind::activity_pending;
      break;
    case Kind::activity_closed:
      event.kind = Event::Kind::activity_closed;
      break;
  }
  if (change.kind != Kind::job_started) {
    event.activity = graph.nodes()[change.place.node].name;
    event.address = change.place.at.text();
    event.code = change.code;
    const auto state = ledger::DuplexState::decode(change.value);
    if (state) event.ledger = state->digits();
  }
  observers_.tell(event);
}

void DuplexRunner::tell_end(const core::JobRow& job) {
  if (observers_.any()) {
    Event event;
    event.kind = job.status == core::JobStatus::parked ? Event::Kind::job_parked : Event::Kind::job_closed;
    event.job = job.id;
    event.run = job.run;
    event.name_space = job.name_space;
    event.graph = job.graph.name;
    event.at = clock_.now();
    observers_.tell(event);
  }
  // The results of running workers are not needed any more.
  for (const auto& [run_out, request] : running_)
    if (run_out.ref.run == job.run && core::is_closed(job.status)) events_.cancel(run_out);
  events_.closed(job);
}

JobDetail duplex_detail_of(const store::DuplexJob& job, const Graph* graph) {
  core::JobState state;
  state.job = job.job;
  for (const store::DuplexCell& cell : job.cells) {
    core::Activity activity;
    activity.seq = core::ActivitySeq(static_cast<std::uint32_t>(state.activities().size()));
    activity.node = cell.place.node;
    activity.at = cell.place.at;
    activity.status = cell.status;
    activity.code = cell.code;
    activity.opened_at = cell.opened_at;
    activity.closed_at = cell.closed_at;
    activity.output = cell.output;
    state.put(std::move(activity));
  }
  JobDetail detail = detail_of(state, graph, core::Guid{});
  for (std::size_t i = 0; i < job.cells.size(); ++i) {
    const auto digits = ledger::DuplexState::decode(job.cells[i].value);
    detail.activities[i].ledger = digits ? digits->digits() : std::to_string(job.cells[i].value);
    detail.activities[i].explanation = digits ? digits->describe() : digits.error().detail;
  }
  return detail;
}

}  // namespace pawl::runtime
