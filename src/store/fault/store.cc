#include "store/fault/store.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/random.h"

namespace pawl::store::fault {

namespace {

Error connection_lost() { return Error{ErrorCode::outcome_unknown, "injected: the reply was lost"}; }
Error damaged(RunId run, ErrorCode code) { return Error{code, format("injected: run {} is damaged", run.raw())}; }
Error refused() { return Error{ErrorCode::retry_later, "injected: the store refused the call"}; }

bool guarded_by_epoch(const Operation& operation) {
  return std::visit(
      Overloaded{
          each_of<core::Bundle, ClaimItem, DropOutbox, RenewLane, ReleaseLane>([] { return true; }),
          [](const ReleaseWork& release) { return release.epoch != core::Epoch(0); },
          each_of<Submit, Deliver, DeliverReply, ClaimWork, ExtendWork, OpenPool, AcquireLane, BeatEngine, LeaveEngine,
                  RemoveJob, DropKeys, PauseTopic, PutApp, ActivateApp>([] { return false; }),
      },
      operation);
}

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::none:
      return "none";
    case Kind::error_before:
      return "error_before";
    case Kind::error_after:
      return "error_after";
    case Kind::drop_midway:
      return "drop_midway";
    case Kind::fence:
      return "fence";
    case Kind::delay:
      return "delay";
    case Kind::duplicate:
      return "duplicate";
  }
  return "?";
}

Plan at_call(std::uint64_t number, Fault fault) {
  return [number, fault](const Call& call) { return call.number == number ? fault : Fault{}; };
}
Plan from_call(std::uint64_t number, Fault fault) {
  return [number, fault](const Call& call) { return call.number >= number ? fault : Fault{}; };
}

void Store::heal() {
  options_.plan = nullptr;
  options_.read_faults_per_thousand = 0;
  options_.loses_ring = nullptr;
}

Fault Store::next_fault(std::span<const Operation> group, std::span<const DuplexOperation> duplex) {
  const Call call{++calls_, group, duplex};
  const Fault fault = options_.plan ? options_.plan(call) : Fault{};
  if (fault.kind != Kind::none) ++fired_;
  return fault;
}

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) {
  const Fault fault = next_fault(group, {});
  if (fault.kind == Kind::fence) return commit_fenced(group);
  return commit_with<Outcome, Operation>(fault, group, [this](auto some) { return inner_.commit(some); });
}

template <class Answer, class Any>
Result<std::vector<Answer>> Store::commit_with(
    const Fault& fault, std::span<const Any> group,
    const std::function<Result<std::vector<Answer>>(std::span<const Any>)>& commit) {
  switch (fault.kind) {
    case Kind::none:
    case Kind::fence:
      return commit(group);
    case Kind::error_before:
      return refused();
    case Kind::error_after: {
      auto applied = commit(group);
      if (!applied) return applied;
      return connection_lost();
    }
    case Kind::drop_midway: {
      const auto prefix = group.first(std::min(fault.applied, group.size()));
      if (!prefix.empty()) {
        auto applied = commit(prefix);
        if (!applied) return applied;
      }
      return connection_lost();
    }
    case Kind::delay:
      invariant(options_.wait != nullptr, "a plan with delays needs somebody who waits");
      options_.wait(fault.by);
      return commit(group);
    case Kind::duplicate: {
      auto first = commit(group);
      if (!first) return first;
      return commit(group);
    }
  }
  return refused();
}

// No duplex operation is guarded by an epoch: there is nothing to fence.
class Store::Duplex final : public pawl::store::DuplexStore {
 public:
  Duplex(Store& store, pawl::store::DuplexStore& inner) : store_(store), inner_(inner) {}

  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) override {
    return store_.commit_with<DuplexOutcome, DuplexOperation>(store_.next_fault({}, operations), operations,
                                                              [this](auto some) { return inner_.commit(some); });
  }
  Instant now() const override { return inner_.now(); }
  Result<std::optional<DuplexJob>> read(RunId run) override {
    ++store_.jobs_read_;
    if (store_.read_fails()) return refused();
    return inner_.read(run);
  }
  Result<std::optional<DuplexJob>> read_under_way(RunId run) override {
    if (store_.read_fails()) return refused();
    return inner_.read_under_way(run);
  }
  Result<std::optional<DuplexView>> view(RunId run, const Place& place) override {
    if (store_.read_fails()) return refused();
    return inner_.view(run, place);
  }

 private:
  Store& store_;
  pawl::store::DuplexStore& inner_;
};

// Receives the inner store's notifications for one listener.
class Store::Ear final : public Listener {
 public:
  Ear(Store& store, Listener& listener) : store_(store), listener_(listener) {}
  void rung(const Change& change) override {
    if (!store_.options_.loses_ring || !store_.options_.loses_ring(listener_)) return listener_.rung(change);
    ++store_.rings_lost_;
  }
  void owner_gone() override { listener_.owner_gone(); }

 private:
  Store& store_;
  Listener& listener_;
};

void Store::listen(Listener& listener) {
  const std::lock_guard lock(ears_mutex_);
  auto& ear = ears_[&listener];
  if (ear == nullptr) ear = std::make_unique<Ear>(*this, listener);
  inner_.listen(*ear);
}

void Store::stop_listening(Listener& listener) {
  const std::lock_guard lock(ears_mutex_);
  const auto ear = ears_.extract(&listener);
  if (!ear.empty()) inner_.stop_listening(*ear.mapped());
}

Store::Store(pawl::store::Store& inner, Options options) : inner_(inner), options_(std::move(options)) {}
Store::Store(std::unique_ptr<pawl::store::Store> inner, Options options)
    : owned_(std::move(inner)), inner_(*owned_), options_(std::move(options)) {}

Store::~Store() {
  for (const auto& [listener, ear] : ears_) inner_.stop_listening(*ear);
}

pawl::store::DuplexStore& Store::wrap(pawl::store::DuplexStore& inner) {
  duplex_ = std::make_unique<Duplex>(*this, inner);
  return *duplex_;
}

pawl::store::DuplexStore* Store::duplex() { return duplex_.get(); }

Result<std::vector<Outcome>> Store::commit_fenced(std::span<const Operation> group) {
  std::vector<Operation> rest;
  for (const Operation& operation : group)
    if (!guarded_by_epoch(operation)) rest.push_back(operation);
  std::vector<Outcome> applied;
  if (!rest.empty()) {
    auto inner = inner_.commit(rest);
    if (!inner) return inner;
    applied = std::move(*inner);
  }
  std::vector<Outcome> outcomes;
  std::size_t next = 0;
  for (const Operation& operation : group) {
    if (!guarded_by_epoch(operation)) {
      outcomes.push_back(std::move(applied[next++]));
      continue;
    }
    Outcome fenced;
    fenced.kind = OutcomeKind::fenced;
    fenced.reason = "injected: the lane has another owner";
    outcomes.push_back(std::move(fenced));
  }
  return outcomes;
}

// The reader of a page gets the undamaged rows.
Result<Page<core::WorkItem>> Store::without_damaged(Result<Page<core::WorkItem>> page) const {
  if (!page || !options_.is_damaged) return page;
  for (const core::WorkItem& item : *page)
    if (is_damaged(item.run)) page->damaged.push_back({item.run, damaged(item.run, options_.damaged_as).detail});
  std::erase_if(*page, [this](const core::WorkItem& item) { return is_damaged(item.run); });
  return page;
}

bool Store::read_fails() {
  const std::uint64_t number = ++reads_;
  const bool fails = Random(options_.seed + number).below(1000) < options_.read_faults_per_thousand;
  if (fails) ++reads_failed_;
  return fails;
}

Result<std::optional<PoolInfo>> Store::read_pool(const Pool& pool) {
  if (read_fails()) return refused();
  return inner_.read_pool(pool);
}
Result<LaneInfo> Store::read_lane(core::LaneId lane) {
  if (read_fails()) return refused();
  return inner_.read_lane(lane);
}
Result<std::optional<RunId>> Store::find_run(const Namespace& name_space, const JobId& id) {
  if (read_fails()) return refused();
  return inner_.find_run(name_space, id);
}
Result<std::optional<StoredJob>> Store::read_job(RunId run) {
  ++jobs_read_;
  if (read_fails()) return refused();
  if (is_damaged(run)) return damaged(run, options_.damaged_as);
  return inner_.read_job(run);
}
Result<std::optional<core::JobRow>> Store::read_job_row(RunId run) {
  if (read_fails()) return refused();
  return inner_.read_job_row(run);
}
Result<std::optional<RunId>> Store::find_mailbox(const core::MailboxKey& key) {
  if (read_fails()) return refused();
  return inner_.find_mailbox(key);
}
Result<std::optional<StoredMailbox>> Store::read_mailbox(RunId run) {
  if (read_fails()) return refused();
  if (is_damaged(run)) return damaged(run, options_.damaged_as);
  return inner_.read_mailbox(run);
}
Result<std::optional<MailboxPage>> Store::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  if (read_fails()) return refused();
  if (is_damaged(run)) return damaged(run, options_.damaged_as);
  return inner_.read_mailbox_page(run, size, now);
}
Result<std::vector<Waiting>> Store::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  if (read_fails()) return refused();
  return inner_.read_waiting(lane, after, rows_max);
}
Result<Page<WorkPlace>> Store::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  if (read_fails()) return refused();
  return inner_.read_work_places(lane, after, rows_max);
}
Result<Page<core::WorkItem>> Store::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  if (read_fails()) return refused();
  return without_damaged(inner_.read_work(lane, after, rows_max));
}
Result<Page<OutboxRow>> Store::read_outbox(core::LaneId lane, std::size_t rows_max) {
  if (read_fails()) return refused();
  auto page = inner_.read_outbox(lane, rows_max);
  if (!page) return page;
  Page<OutboxRow> kept;
  std::optional<core::LaneId> stuck;
  for (OutboxRow& row : *page) {
    if (stuck == row.lane) continue;
    if (!options_.is_damaged_row || !options_.is_damaged_row(row)) {
      kept.push_back(std::move(row));
      continue;
    }
    stuck = row.lane;
    kept.damaged.push_back({RunId(0), "row " + std::to_string(row.seq) + " of an outbox is malformed"});
  }
  return kept;
}
Result<Page<Due>> Store::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  if (read_fails()) return refused();
  return inner_.read_due(lane, after, rows_max);
}
Result<std::optional<core::InboxMessage>> Store::read_message(RunId run, const core::Guid& guid) {
  if (read_fails()) return refused();
  if (is_damaged(run)) return damaged(run, options_.damaged_as);
  return inner_.read_message(run, guid);
}
Result<std::vector<Topic>> Store::read_paused_topics() {
  if (read_fails()) return refused();
  return inner_.read_paused_topics();
}
Result<std::vector<LaneEnd>> Store::read_lane_ends() {
  if (read_fails()) return refused();
  return inner_.read_lane_ends();
}
Result<std::vector<core::JobRow>> Store::list_jobs(const ListQuery& query) {
  if (read_fails()) return refused();
  return inner_.list_jobs(query);
}
Result<std::vector<JobCount>> Store::count_jobs() {
  if (read_fails()) return refused();
  return inner_.count_jobs();
}
Result<std::vector<TopicWork>> Store::count_work(Instant now) {
  if (read_fails()) return refused();
  return inner_.count_work(now);
}
Result<std::vector<EngineInfo>> Store::read_engines(const Pool& pool, Instant now) {
  if (read_fails()) return refused();
  return inner_.read_engines(pool, now);
}
Result<std::vector<MailboxInfo>> Store::list_mailboxes(const MailboxQuery& query) {
  if (read_fails()) return refused();
  return inner_.list_mailboxes(query);
}
Result<std::optional<KeptSignals>> Store::read_kept(const KeptQuery& query) {
  if (read_fails()) return refused();
  return inner_.read_kept(query);
}
Result<std::vector<MeasureRow>> Store::read_measures(const MeasureQuery& query) {
  if (read_fails()) return refused();
  return inner_.read_measures(query);
}
Result<std::vector<AnnouncementRow>> Store::read_announcements(const AnnouncementQuery& query) {
  if (read_fails()) return refused();
  return inner_.read_announcements(query);
}
Result<std::optional<std::string>> Store::read_app(const Namespace& name_space, const std::string& app,
                                                   const std::string& version) {
  if (read_fails()) return refused();
  return inner_.read_app(name_space, app, version);
}
Result<std::vector<AppInfo>> Store::list_apps(const Namespace& name_space) {
  if (read_fails()) return refused();
  return inner_.list_apps(name_space);
}

}  // namespace pawl::store::fault
