#include "store/read.h"

#include "base/limits.h"
#include "store/store.h"

namespace pawl::store {

AnswerTo<ReadJob> answer_to(JobStore& store, const ReadJob& read) { return store.read_job(read.run); }
AnswerTo<ReadMessage> answer_to(JobStore& store, const ReadMessage& read) {
  return store.read_message(read.run, read.guid);
}

AnswerTo<ReadItem> answer_to(JobStore& store, const ReadItem& read) {
  if (read.activity == core::ActivitySeq(0)) return std::optional<core::WorkItem>();  // a trigger has no work
  // Work items are read in order: this one is the first behind its predecessor's place.
  const WorkCursor before{read.run, core::ActivitySeq(read.activity.raw() - 1)};
  auto page = store.read_work(core::lane_of(read.run), before, 1);
  if (!page) return page.error();
  for (const Damaged& row : page->damaged)
    if (row.run == read.run) return Error{ErrorCode::corrupt, row.what};
  if (page->empty() || page->front().run != read.run || page->front().activity != read.activity)
    return std::optional<core::WorkItem>();
  return std::optional<core::WorkItem>(std::move(page->front()));
}

AnswerTo<ReadMailboxPage> answer_to(JobStore& store, const ReadMailboxPage& read) {
  return store.read_mailbox_page(read.run, read.size, read.now);
}
AnswerTo<FindRun> answer_to(JobStore& store, const FindRun& read) {
  return store.find_run(read.key.name_space, read.key.id);
}
AnswerTo<FindMailbox> answer_to(JobStore& store, const FindMailbox& read) { return store.find_mailbox(read.key); }
AnswerTo<ReadWaiting> answer_to(JobStore& store, const ReadWaiting& read) {
  return store.read_waiting(read.lane, read.after, read.rows_max);
}
AnswerTo<ReadWorkPlaces> answer_to(JobStore& store, const ReadWorkPlaces& read) {
  return store.read_work_places(read.lane, read.after, read.rows_max);
}
AnswerTo<ReadDue> answer_to(JobStore& store, const ReadDue& read) {
  return store.read_due(read.lane, read.after, read.rows_max);
}
AnswerTo<ReadOutbox> answer_to(JobStore& store, const ReadOutbox& read) {
  return store.read_outbox(read.lane, read.rows_max);
}
AnswerTo<ReadPausedTopics> answer_to(JobStore& store, const ReadPausedTopics&) { return store.read_paused_topics(); }
AnswerTo<ListJobs> answer_to(Queries& store, const ListJobs& read) { return store.list_jobs(read.query); }

namespace {

// Only jobs count: all other answers come in bounded pages.
std::size_t weight_of(const ReadAnswer& answer) {
  const auto* job = std::get_if<Answered<ReadJob>>(&answer);
  return job != nullptr && job->value && *job->value ? (*job->value)->state.bytes() : 0;
}

}  // namespace

std::vector<ReadAnswer> answer_each(Store& store, std::span<const Read> reads) {
  std::vector<ReadAnswer> answers;
  answers.reserve(reads.size());
  std::size_t bytes = 0;
  for (const Read& read : reads) {
    if (bytes >= limits::read_answers_bytes) break;
    answers.push_back(std::visit(
        [&]<class One>(const One& one) -> ReadAnswer { return Answered<One>{answer_to(store, one)}; }, read));
    bytes += weight_of(answers.back());
  }
  return answers;
}

std::vector<ReadAnswer> fail_each(std::span<const Read> reads, const Error& error) {
  std::vector<ReadAnswer> answers;
  answers.reserve(reads.size());
  for (const Read& read : reads)
    answers.push_back(std::visit([&]<class One>(const One&) -> ReadAnswer { return Answered<One>{error}; }, read));
  return answers;
}

}  // namespace pawl::store
