#include <algorithm>

#include "base/format.h"
#include "store/memory/store.h"
#include "store/topic_tally.h"

namespace pawl::store::memory {

Result<std::optional<PoolInfo>> Store::read_pool(const Pool& pool) {
  const std::lock_guard lock(mutex_);
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return std::optional<PoolInfo>();
  return std::optional<PoolInfo>(found->second);
}

Result<LaneInfo> Store::read_lane(core::LaneId lane) {
  const std::lock_guard lock(mutex_);
  const Lane* found = find_lane(lane);
  if (found == nullptr) return Error{ErrorCode::not_found, format("there is no lane {}", lane.raw())};
  return LaneInfo{lane, found->epoch, found->owner, found->lease_until};
}

Result<std::optional<RunId>> Store::find_run(const Namespace& name_space, const JobId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = start_keys_.find({name_space, id});
  if (found == start_keys_.end()) return std::optional<RunId>();
  return std::optional<RunId>(found->second.run);
}

Result<std::optional<StoredJob>> Store::read_job(RunId run) {
  const std::lock_guard lock(mutex_);
  const Job* job = find_job(run);
  if (job == nullptr) return std::optional<StoredJob>();
  return std::optional<StoredJob>(StoredJob{job->state, job->inbox.in_order(), job->inbox.timers()});
}

Result<std::optional<core::JobRow>> Store::read_job_row(RunId run) {
  const std::lock_guard lock(mutex_);
  const Job* job = find_job(run);
  if (job == nullptr) return std::optional<core::JobRow>();
  core::JobRow row = job->state.job;
  if (row.status == core::JobStatus::running) row.data = row.result = Payload();
  return std::optional<core::JobRow>(std::move(row));
}

Result<std::optional<RunId>> Store::find_mailbox(const core::MailboxKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = mailbox_keys_.find(key);
  if (found == mailbox_keys_.end()) return std::optional<RunId>();
  return std::optional<RunId>(found->second);
}

Result<std::optional<StoredMailbox>> Store::read_mailbox(RunId run) {
  const std::lock_guard lock(mutex_);
  const auto found = mailboxes_.find(run);
  if (found == mailboxes_.end()) return std::optional<StoredMailbox>();
  const Inbox& inbox = found->second.inbox;
  return std::optional<StoredMailbox>(StoredMailbox{found->second.state(), inbox.in_order(), inbox.timers()});
}

Result<std::optional<MailboxPage>> Store::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = mailboxes_.find(run);
  if (found == mailboxes_.end()) return std::optional<MailboxPage>();
  const core::MailboxState& state = found->second.state();
  MailboxPage page;
  page.state = core::MailboxState{state.run, state.key, state.rev, state.bundle, state.next_entry, {}};
  if (const auto filled = fill_page(found->second, size, now, page); !filled) return filled.error();
  return std::optional<MailboxPage>(std::move(page));
}

Result<std::vector<MailboxInfo>> Store::list_mailboxes(const MailboxQuery& query) {
  const std::lock_guard lock(mutex_);
  std::vector<MailboxInfo> found;
  for (auto box = mailboxes_.upper_bound(query.after); box != mailboxes_.end() && found.size() < query.rows_max;
       ++box) {
    const core::MailboxKey& key = box->second.state().key;
    const bool is_meant =
        (!query.name_space || *query.name_space == key.name_space) && (!query.topic || *query.topic == key.topic);
    if (is_meant && box->second.signals > 0) found.push_back({box->first, key, box->second.signals});
  }
  return found;
}

Result<std::optional<KeptSignals>> Store::read_kept(const KeptQuery& query) {
  const std::lock_guard lock(mutex_);
  const auto found = mailboxes_.find(query.mailbox);
  if (found == mailboxes_.end()) return std::optional<KeptSignals>();
  KeptSignals kept{found->second.state().key, {}, {}, {}, {}};
  if (const auto filled = fill_kept(found->second, query, kept); !filled) return filled.error();
  return std::optional<KeptSignals>(std::move(kept));
}

Result<std::vector<Waiting>> Store::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  const std::lock_guard lock(mutex_);
  std::vector<Waiting> rows;
  const RunId from = std::max(after, core::make_run(lane, 0));
  for (auto run = waiting_.upper_bound(from); run != waiting_.end(); ++run) {
    if (rows.size() == rows_max || core::lane_of(*run) != lane) break;
    rows.push_back({*run, jobs_.contains(*run) ? EntityKind::job : EntityKind::mailbox});
  }
  return rows;
}

Result<Page<WorkPlace>> Store::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const std::lock_guard lock(mutex_);
  Page<WorkPlace> places;
  for (const WorkKey& key : queue_.of_lane(lane, {after.run, after.activity}, rows_max))
    places.push_back({key.run, key.activity, find_job(key.run)->state.find_work(key.activity)->topic});
  return places;
}

Result<Page<core::WorkItem>> Store::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const std::lock_guard lock(mutex_);
  Page<core::WorkItem> items;
  for (const WorkKey& key : queue_.of_lane(lane, {after.run, after.activity}, rows_max))
    items.push_back(*find_job(key.run)->state.find_work(key.activity));
  return items;
}

Result<Page<OutboxRow>> Store::read_outbox(core::LaneId lane, std::size_t rows_max) {
  const std::lock_guard lock(mutex_);
  const Lane* found = find_lane(lane);
  Page<OutboxRow> rows;
  if (found == nullptr) return rows;
  for (const auto& [target, outbox] : found->outboxes)
    for (std::size_t i = 0; i < outbox.rows.size() && i < rows_max; ++i) rows.push_back(outbox.rows[i]);
  return rows;
}

Result<Page<Due>> Store::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  const std::lock_guard lock(mutex_);
  const std::vector<Due> messages = due_.after(lane, after, rows_max);
  Page<Due> rows(messages.begin(), messages.end());
  const std::vector<Due> work = queue_.due().after(lane, after, rows_max);
  const auto middle = rows.insert(rows.end(), work.begin(), work.end());
  std::inplace_merge(rows.begin(), middle, rows.end());
  if (rows.size() > rows_max) rows.resize(rows_max);
  return rows;
}

Result<std::optional<core::InboxMessage>> Store::read_message(RunId run, const core::Guid& guid) {
  const std::lock_guard lock(mutex_);
  const Job* job = find_job(run);
  const auto mailbox = mailboxes_.find(run);
  const core::InboxMessage* found = job != nullptr                ? job->inbox.find(guid)
                                    : mailbox != mailboxes_.end() ? mailbox->second.inbox.find(guid)
                                                                  : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

Result<std::vector<Topic>> Store::read_paused_topics() {
  const std::lock_guard lock(mutex_);
  std::set<Topic> all = paused_;
  for (const Lane& lane : lanes_) all.insert(lane.paused.begin(), lane.paused.end());
  return std::vector<Topic>(all.begin(), all.end());
}

namespace {

bool is_in_reach(RunId run, const ListQuery& query) {
  if (query.lane != core::LaneId(0) && core::lane_of(run) != query.lane) return false;
  return query.direction == Direction::up ? run > query.after : run < query.after;
}

}  // namespace

Result<std::vector<core::JobRow>> Store::list_jobs(const ListQuery& query) {
  const std::lock_guard lock(mutex_);
  std::vector<core::JobRow> rows;
  if (query.label) {
    if (!query.name_space) return Error{ErrorCode::invalid, "a search by label needs a namespace"};
    const auto& label = *query.label;
    for (const LabelTables::Place& place : labels_.places) {
      if (place.name_space != query.name_space || place.graph != label.graph || place.name != label.name ||
          place.value != label.value || (label.key && *label.key != place.key) || !is_in_reach(place.run, query))
        continue;
      const core::JobRow& row = find_job(place.run)->state.job;
      if (query.status && *query.status != row.status) continue;
      if (label.open_only && core::is_closed(row.status)) continue;
      rows.push_back(row);
      if (query.names_only) rows.back().data = rows.back().result = Payload();
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.run < b.run; });
    if (query.direction == Direction::down) std::reverse(rows.begin(), rows.end());
    if (rows.size() > query.rows_max) rows.resize(query.rows_max);
    return rows;
  }
  if (query.graph && !query.status) return Error{ErrorCode::invalid, "a search by graph needs a status"};
  // True: enough.
  const auto see = [&](const core::JobRow& row) {
    if (rows.size() == query.rows_max || !is_in_reach(row.run, query)) return true;
    const bool matches = (!query.name_space || *query.name_space == row.name_space) &&
                         (!query.status || *query.status == row.status) &&
                         (!query.graph || *query.graph == row.graph.name);
    if (!matches) return false;
    rows.push_back(row);
    if (query.names_only) rows.back().data = rows.back().result = Payload();
    return false;
  };
  if (query.direction == Direction::up) {
    const RunId from = std::max(query.after, core::make_run(query.lane, 0));
    for (auto job = jobs_.upper_bound(from); job != jobs_.end(); ++job)
      if (see(job->second.state.job)) break;
    return rows;
  }
  for (auto job = jobs_.lower_bound(query.after); job != jobs_.begin();)
    if (see((--job)->second.state.job)) break;
  return rows;
}

Result<std::vector<JobCount>> Store::count_jobs() {
  const std::lock_guard lock(mutex_);
  std::map<std::pair<GraphName, core::JobStatus>, std::uint64_t> counts;
  for (const auto& [run, job] : jobs_) ++counts[{job.state.job.graph.name, job.state.job.status}];
  std::vector<JobCount> rows;
  for (const auto& [of, jobs] : counts) rows.push_back({of.first, of.second, jobs});
  return rows;
}

Result<std::vector<TopicWork>> Store::count_work(Instant now) {
  const std::lock_guard lock(mutex_);
  TopicTally tally(now);
  for (const auto& [run, job] : jobs_)
    for (const auto& [seq, item] : job.state.work()) tally.add(item, job.state.find(seq)->opened_at);
  return std::move(tally).rows();
}

Result<std::vector<EngineInfo>> Store::read_engines(const Pool& pool, Instant now) {
  const std::lock_guard lock(mutex_);
  std::vector<EngineInfo> alive;
  for (const auto& [key, engine] : engines_)
    if (key.first == pool && engine.until > now) alive.push_back(engine);
  return alive;
}

Result<std::vector<LaneEnd>> Store::read_lane_ends() {
  const std::lock_guard lock(mutex_);
  std::vector<LaneEnd> ends;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const core::LaneId lane(static_cast<std::uint32_t>(i) + 1);
    ends.push_back({lane, core::make_run(lane, lanes_[i].next_run)});
  }
  return ends;
}

namespace {

DumpedJob dumped(const core::JobState& state, const Inbox& inbox) {
  DumpedJob out;
  out.job = state.job;
  out.activities.assign(state.activities().begin(), state.activities().end());
  for (const auto& [guid, record] : state.messages()) out.records.push_back(record);
  for (const auto& [activity, item] : state.work()) out.work.push_back(item);
  std::sort(out.records.begin(), out.records.end(), [](const auto& a, const auto& b) { return a.guid < b.guid; });
  std::sort(out.work.begin(), out.work.end(), [](const auto& a, const auto& b) { return a.activity < b.activity; });
  out.inbox = inbox.in_order();
  out.timers = inbox.timers();
  return out;
}

}  // namespace

Dump Store::dump() const {
  const std::lock_guard lock(mutex_);
  Dump all;
  for (const auto& [run, job] : jobs_) all.jobs.push_back(dumped(job.state, job.inbox));
  for (const auto& [run, mailbox] : mailboxes_)
    all.mailboxes.push_back({mailbox.state(), mailbox.inbox.in_order(), mailbox.inbox.timers()});
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    DumpedLane out{core::LaneId(static_cast<std::uint32_t>(i) + 1),
                   lane.epoch,
                   lane.owner,
                   lane.lease_until,
                   {lane.accepted.begin(), lane.accepted.end()},
                   {},
                   lane.signal_ids.in_order()};
    for (const auto& [target, outbox] : lane.outboxes)
      for (const OutboxRow& row : outbox.rows) out.outbox.push_back({row.seq, row.envelope, row.lane});
    all.lanes.push_back(std::move(out));
  }
  for (const auto& [name, key] : start_keys_) all.keys.push_back({name.first, name.second, key.run, key.expires_at});
  for (const Topic& topic : paused_) all.paused.emplace_back(core::LaneId(0), topic);
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    for (const Topic& topic : lanes_[i].paused)
      all.paused.emplace_back(core::LaneId(static_cast<std::uint32_t>(i) + 1), topic);
  for (const auto& [name, app] : apps_) {
    const auto& [space, id, version] = name;
    const auto active = active_apps_.find({space, id});
    all.apps.push_back(
        {space, id, version, app.body, app.deployed_at, active != active_apps_.end() && active->second == version});
  }
  for (const auto& place : labels_.places)
    all.labels.push_back({place.run, core::Label{place.key, place.name, place.value}});
  for (const auto& [slot, row] : labels_.added_up()) all.measures.push_back(row);
  for (const auto& [seq, row] : labels_.announcements) all.announcements.push_back(row);
  return all;
}

}  // namespace pawl::store::memory
