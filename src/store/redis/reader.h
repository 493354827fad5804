// Reader: all reads of the Redis store.
//
// Threads: any.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "store/read.h"
#include "store/redis/committer.h"
#include "store/redis/keys.h"
#include "store/redis/records.h"
#include "store/redis/servers.h"
#include "store/store.h"

namespace pawl::store::redis {

class Reader {
 public:
  // The references must outlive it.
  Reader(Servers& servers, const Keys& keys, Committer& committer)
      : servers_(servers), keys_(keys), committer_(committer) {}

  Result<std::optional<PoolInfo>> read_pool(const Pool& pool);
  Result<LaneInfo> read_lane(core::LaneId lane);
  Result<std::vector<LaneEnd>> read_lane_ends();
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id);
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key);
  Result<std::vector<Topic>> read_paused_topics();

  Result<std::optional<StoredJob>> read_job(RunId run);
  Result<std::optional<core::JobRow>> read_job_row(RunId run);
  Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid);
  Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max);
  Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max);
  Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max);

  Result<std::optional<StoredMailbox>> read_mailbox(RunId run);
  Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now);
  Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query);
  Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query);

  Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query);
  Result<std::vector<JobCount>> count_jobs();
  Result<std::vector<TopicWork>> count_work(Instant now);
  Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now);
  Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query);
  Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query);
  Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                              const std::string& version);
  Result<std::vector<AppInfo>> list_apps(const Namespace& name_space);

  // Many at once, as described for Store::read. Reads that take several steps are sent to `store`, one by one.
  std::vector<ReadAnswer> read(pawl::store::Store& store, std::span<const Read> reads);

 private:
  using Replies = std::vector<Reply>;
  // A read that needs only one command.
  struct Asked {
    Servers::Question question;
    std::function<ReadAnswer(Result<Replies>)> answer;
  };
  std::optional<Asked> question_of(const Read& read);

  // All of a job or a mailbox at one instant (scripts/whole.lua).
  Words whole_keys(RunId run) const;
  static Words whole_arguments(RunId run);
  Result<Reply> read_whole(RunId run);
  Servers::Question job_question(RunId run) const;
  Result<std::optional<StoredJob>> job_answer(RunId run, const Reply& parts);

  // Items that their owners have in hand: two fields of each job that one of these rows names.
  Result<Replies> read_hands(core::LaneId lane, std::span<const Reply> rows);
  Result<std::vector<core::WorkItem>> read_work_of(RunId run, std::vector<Damaged>& damaged);

  // Reads of a lane that lost its data fail.
  Status believe(core::LaneId lane, bool found) {
    return committer_.watch().believe(lane, found ? LaneWatch::Found::something : LaneWatch::Found::nothing);
  }
  // The error of a single command is the error of the whole call.
  Result<Replies> ask(core::LaneId lane, const Commands& commands);
  Result<Reply> ask_one(core::LaneId lane, std::initializer_list<std::string_view> words);
  Result<Reply> ask_catalogue(std::initializer_list<std::string_view> words);
  // The same command for every lane; replies by lane, from 1.
  Result<Replies> ask_all_lanes(const std::function<void(core::LaneId, Commands&)>& command);
  Result<Reply> run_script(core::LaneId lane, const Script& script, const Words& keys, const Words& arguments);

  Result<std::vector<core::JobRow>> list_lane(core::LaneId lane, const ListQuery& query);
  Result<std::vector<core::JobRow>> list_labelled(core::LaneId lane, const ListQuery& query);
  Result<std::vector<std::optional<core::JobRow>>> read_rows(core::LaneId lane, const std::vector<RunId>& runs);
  Status read_payloads(core::LaneId lane, std::vector<core::JobRow>& rows);  // result and data

  Servers& servers_;
  const Keys& keys_;
  Committer& committer_;
};

}  // namespace pawl::store::redis
