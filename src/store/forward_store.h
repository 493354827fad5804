// ForwardStore: passes every call on to another store. A layer between an engine and its store overrides the calls that
// it needs. Batches of reads go through its own single reads.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "store/store.h"

namespace pawl::store {

class ForwardStore : public Store {
 public:
  // `inner` must outlive this store.
  explicit ForwardStore(Store& inner) : inner_(inner) {}

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override { return inner_.commit(group); }
  core::Guid id() const override { return inner_.id(); }
  Instant now() const override { return inner_.now(); }
  bool sends_directly() const override { return inner_.sends_directly(); }
  bool spans_lanes() const override { return inner_.spans_lanes(); }
  bool takes_first_steps() const override { return inner_.takes_first_steps(); }
  std::size_t connections() const override { return inner_.connections(); }
  void listen(Listener& listener) override { inner_.listen(listener); }
  void stop_listening(Listener& listener) override { inner_.stop_listening(listener); }
  void ring(core::LaneId lane, const Change& change) override { inner_.ring(lane, change); }
  Duration ring_late_max() const override { return inner_.ring_late_max(); }
  Result<std::optional<PoolInfo>> read_pool(const Pool& pool) override { return inner_.read_pool(pool); }
  Result<LaneInfo> read_lane(core::LaneId lane) override { return inner_.read_lane(lane); }
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id) override {
    return inner_.find_run(name_space, id);
  }
  Result<std::optional<StoredJob>> read_job(RunId run) override { return inner_.read_job(run); }
  Result<std::optional<core::JobRow>> read_job_row(RunId run) override { return inner_.read_job_row(run); }
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key) override { return inner_.find_mailbox(key); }
  Result<std::optional<StoredMailbox>> read_mailbox(RunId run) override { return inner_.read_mailbox(run); }
  Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) override {
    return inner_.read_mailbox_page(run, size, now);
  }
  Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) override {
    return inner_.read_waiting(lane, after, rows_max);
  }
  Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) override {
    return inner_.read_work_places(lane, after, rows_max);
  }
  Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) override {
    return inner_.read_work(lane, after, rows_max);
  }
  Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max) override {
    return inner_.read_outbox(lane, rows_max);
  }
  Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) override {
    return inner_.read_due(lane, after, rows_max);
  }
  Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid) override {
    return inner_.read_message(run, guid);
  }
  Result<std::vector<Topic>> read_paused_topics() override { return inner_.read_paused_topics(); }
  Result<std::vector<LaneEnd>> read_lane_ends() override { return inner_.read_lane_ends(); }
  Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query) override { return inner_.list_jobs(query); }
  Result<std::vector<JobCount>> count_jobs() override { return inner_.count_jobs(); }
  Result<std::vector<TopicWork>> count_work(Instant now) override { return inner_.count_work(now); }
  Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now) override {
    return inner_.read_engines(pool, now);
  }
  Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query) override {
    return inner_.list_mailboxes(query);
  }
  Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query) override { return inner_.read_kept(query); }
  Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query) override {
    return inner_.read_measures(query);
  }
  Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query) override {
    return inner_.read_announcements(query);
  }
  Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                              const std::string& version) override {
    return inner_.read_app(name_space, app, version);
  }
  Result<std::vector<AppInfo>> list_apps(const Namespace& name_space) override { return inner_.list_apps(name_space); }

 protected:
  Store& inner_;
};

}  // namespace pawl::store
