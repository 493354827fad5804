// Reads as values. An engine asks many at once and gets the answers later, because a store may be a millisecond away
// and an engine that waits for it does nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "store/job_store.h"
#include "store/queries.h"

namespace pawl::store {

class Store;

struct ReadJob {
  using Answer = std::optional<StoredJob>;
  RunId run{0};
};
struct ReadMessage {
  using Answer = std::optional<core::InboxMessage>;
  RunId run{0};
  core::Guid guid;
};
struct ReadItem {  // one work item
  using Answer = std::optional<core::WorkItem>;
  RunId run{0};
  core::ActivitySeq activity{0};
};
struct ReadMailboxPage {
  using Answer = std::optional<MailboxPage>;
  RunId run{0};
  MailboxPageSize size;
  Instant now;
};
struct FindRun {
  using Answer = std::optional<RunId>;
  core::JobKey key;
};
struct FindMailbox {
  using Answer = std::optional<RunId>;
  core::MailboxKey key;
};
struct ReadWaiting {
  using Answer = std::vector<Waiting>;
  core::LaneId lane{0};
  RunId after{0};
  std::size_t rows_max = 0;
};
struct ReadWorkPlaces {
  using Answer = Page<WorkPlace>;
  core::LaneId lane{0};
  WorkCursor after;
  std::size_t rows_max = 0;
};
struct ReadDue {
  using Answer = Page<Due>;
  core::LaneId lane{0};
  std::optional<Due> after;
  std::size_t rows_max = 0;
};
struct ReadOutbox {
  using Answer = Page<OutboxRow>;
  core::LaneId lane{0};
  std::size_t rows_max = 0;
};
struct ReadPausedTopics {
  using Answer = std::vector<Topic>;
};
struct ListJobs {
  using Answer = std::vector<core::JobRow>;
  ListQuery query;
};

template <class Read>
using AnswerTo = Result<typename Read::Answer>;

// The type names the read that it answers, because two reads have the same type of answer.
template <class Read>
struct Answered {
  AnswerTo<Read> value;
};

template <class... Reads>
struct ReadsOf {
  using Read = std::variant<Reads...>;
  using Answer = std::variant<Answered<Reads>...>;
};
using AllReads = ReadsOf<ReadJob, ReadMessage, ReadItem, ReadMailboxPage, FindRun, FindMailbox, ReadWaiting,
                         ReadWorkPlaces, ReadDue, ReadOutbox, ReadPausedTopics, ListJobs>;
using Read = AllReads::Read;
using ReadAnswer = AllReads::Answer;

// One read, on the caller's thread.
AnswerTo<ReadJob> answer_to(JobStore& store, const ReadJob& read);
AnswerTo<ReadMessage> answer_to(JobStore& store, const ReadMessage& read);
AnswerTo<ReadItem> answer_to(JobStore& store, const ReadItem& read);
AnswerTo<ReadMailboxPage> answer_to(JobStore& store, const ReadMailboxPage& read);
AnswerTo<FindRun> answer_to(JobStore& store, const FindRun& read);
AnswerTo<FindMailbox> answer_to(JobStore& store, const FindMailbox& read);
AnswerTo<ReadWaiting> answer_to(JobStore& store, const ReadWaiting& read);
AnswerTo<ReadWorkPlaces> answer_to(JobStore& store, const ReadWorkPlaces& read);
AnswerTo<ReadDue> answer_to(JobStore& store, const ReadDue& read);
AnswerTo<ReadOutbox> answer_to(JobStore& store, const ReadOutbox& read);
AnswerTo<ReadPausedTopics> answer_to(JobStore& store, const ReadPausedTopics& read);
AnswerTo<ListJobs> answer_to(Queries& store, const ListJobs& read);

// One after the other, for stores that gain nothing from a batch.
std::vector<ReadAnswer> answer_each(Store& store, std::span<const Read> reads);

// All of them fail with the same error.
std::vector<ReadAnswer> fail_each(std::span<const Read> reads, const Error& error);

}  // namespace pawl::store
