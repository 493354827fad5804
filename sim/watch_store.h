// WatchStore: stands between everybody and the real store and checks every operation that was
// applied against a shadow of its own. What it demands at each commit:
//
//   lease       a lane changes hands only after its lease; an epoch rises by one; only its holder
//   commits rev         each bundle raises its job's rev by one: nothing is applied twice marks a
//   digit that is set stays set, counters never fall, an ordinal never changes completion  the
//   completion tasks run at most once, in a closed job semaphore   equals the obligations that are
//   really open; 0 once closed carrier     whatever is open in a running job has a message or a
//   work item that will move it on messages    nothing is consumed that was never sent, nothing is
//   sent twice, nothing is dropped unserved invented    every answer on a ledger was produced by a
//   worker, with these very bytes token       only the worker that holds the item answers it
//   identity    an id names one job of one tenant
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/journal.h"
#include "sim/trace.h"
#include "sim/verdict.h"
#include "store/store.h"

namespace pawl::sim {

struct WatchFigures {
  std::uint64_t operations = 0;
  std::uint64_t bundles = 0;
  std::uint64_t rows_max = 0;  // of one bundle
};

class WatchStore final : public store::Store {
 public:
  // The references must outlive this store.
  WatchStore(store::Store& inner, const Journal& journal, Verdict& verdict, TraceHash& trace)
      : inner_(inner), journal_(journal), verdict_(verdict), trace_(trace) {}

  std::size_t open_jobs() const { return open_; }  // not parked, completion tasks not done
  std::size_t parked_jobs() const { return parked_; }
  const WatchFigures& figures() const { return figures_; }
  // Whether a commit gave this run of a request to somebody: before that no worker may see it.
  bool handed_out(const core::WorkItem& item) const {
    return handed_out_.contains({item.request, item.token});
  }

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override;
  core::Guid id() const override { return inner_.id(); }
  Instant now() const override { return inner_.now(); }
  bool sends_directly() const override { return inner_.sends_directly(); }
  Result<std::optional<store::PoolInfo>> read_pool(const Pool& pool) override {
    return inner_.read_pool(pool);
  }
  Result<store::LaneInfo> read_lane(core::LaneId lane) override { return inner_.read_lane(lane); }
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id) override {
    return inner_.find_run(name_space, id);
  }
  Result<std::optional<store::StoredJob>> read_job(RunId run) override {
    return inner_.read_job(run);
  }
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key) override {
    return inner_.find_mailbox(key);
  }
  Result<std::optional<store::StoredMailbox>> read_mailbox(RunId run) override {
    return inner_.read_mailbox(run);
  }
  Result<std::vector<store::Waiting>> read_waiting(core::LaneId lane, RunId after,
                                                   std::size_t rows_max) override {
    return inner_.read_waiting(lane, after, rows_max);
  }
  Result<std::vector<core::WorkItem>> read_work(core::LaneId lane, store::WorkCursor after,
                                                std::size_t rows_max) override {
    return inner_.read_work(lane, after, rows_max);
  }
  Result<std::vector<store::OutboxRow>> read_outbox(core::LaneId lane,
                                                    std::size_t rows_max) override {
    return inner_.read_outbox(lane, rows_max);
  }
  Result<std::vector<core::JobRow>> list_jobs(const store::ListQuery& query) override {
    return inner_.list_jobs(query);
  }

 private:
  struct ShadowLane {
    std::uint64_t epoch = 0;
    std::string owner;
    std::optional<Instant> lease_until;
  };
  struct ShadowActivity {
    std::uint32_t node = 0;
    std::string at;
    std::uint64_t ledger = 0;
    core::Guid request;  // of its work, once enqueued
  };
  struct ShadowRecord {
    std::uint32_t activity = 0;
    std::uint64_t ledger = 0;
  };
  struct ShadowWork {
    std::uint64_t token = 0;
    bool local = false;  // claimed by a lane's owner
    Instant lease_until;
  };
  struct ShadowJob {
    RunId run{0};
    std::string name_space;
    std::string id;
    std::string input;
    std::uint64_t rev = 0;
    core::JobStatus status = core::JobStatus::running;
    std::int64_t semaphore = 1;
    std::uint32_t completions = 0;
    std::map<std::uint32_t, ShadowActivity> activities;
    std::map<core::Guid, ShadowRecord> records;
    std::map<core::Guid, core::Message> inbox;
    std::set<core::Guid> sent;  // transitions, ever
    std::map<std::uint32_t, ShadowWork> work;
    bool counted_open = false;
    bool counted_parked = false;
  };

  void note(const core::Bundle& bundle, const store::Outcome& outcome);
  void note(const store::Submit& submit, const store::Outcome& outcome);
  void note(const store::Respond& respond, const store::Outcome& outcome);
  void note(const store::ClaimWork& claim, const store::Outcome& outcome);
  void note(const store::ClaimItem& claim, const store::Outcome& outcome);
  void note(const store::ExtendWork& extend, const store::Outcome& outcome);
  void note(const store::ReleaseWork& release, const store::Outcome& outcome);
  void note(const store::AcquireLane& acquire, const store::Outcome& outcome);
  void note(const store::RenewLane& renew, const store::Outcome& outcome);
  void note(const store::ReleaseLane& release, const store::Outcome& outcome);
  void note(const store::Deliver&, const store::Outcome&) {}
  void note(const store::DropOutbox&, const store::Outcome&) {}
  void note(const store::OpenPool&, const store::Outcome&) {}
  // Duplex jobs have a simulator and oracles of their own: duplex_world.h.
  template <class Duplex>
  void note(const Duplex&, const store::Outcome&) {}

  // watch_bundle.cc
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutActivity& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutRecord& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutMessage& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutWork& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::DropWork& drop);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::Sweep& sweep);
  void write(ShadowJob&, const core::Bundle&, const core::Consume&) {}  // after all other writes
  template <class Other>
  void write(ShadowJob&, const core::Bundle&, const Other&) {}
  void consume(ShadowJob& job, const core::Guid& guid);
  void check_obligations(const ShadowJob& job);
  void check_carriers(const ShadowJob& job);
  void check_owner(core::LaneId lane, core::Epoch epoch, const char* what);
  bool served(const ShadowJob& job, const core::Message& message) const;
  ShadowJob* find(RunId run);
  void fail(const ShadowJob& job, const char* oracle, const std::string& what);
  void count(ShadowJob& job);

  store::Store& inner_;
  const Journal& journal_;
  Verdict& verdict_;
  TraceHash& trace_;
  std::map<core::LaneId, ShadowLane> lanes_;
  std::map<RunId, ShadowJob> jobs_;
  std::map<std::pair<std::string, std::string>, RunId> keys_;
  std::set<std::pair<core::Guid, core::WorkToken>> handed_out_;
  std::size_t open_ = 0;
  std::size_t parked_ = 0;
  WatchFigures figures_;
};

}  // namespace pawl::sim
