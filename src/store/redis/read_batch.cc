// Many reads in few round trips.
#include "base/limits.h"
#include "store/redis/reader.h"

namespace pawl::store::redis {

namespace {

constexpr std::size_t reads_at_once = 64;  // then their bytes are counted

std::size_t weight_of(const ReadAnswer& answer) {
  const auto* job = std::get_if<Answered<ReadJob>>(&answer);
  return job != nullptr && job->value && *job->value ? (*job->value)->state.bytes() : 0;
}

}  // namespace

std::optional<Reader::Asked> Reader::question_of(const Read& read) {
  if (const auto* job = std::get_if<ReadJob>(&read); job != nullptr && committer_.has_scripts()) {
    const RunId run = job->run;
    return Asked{job_question(run), [this, run](Result<Replies> replies) -> ReadAnswer {
                   if (!replies) return Answered<ReadJob>{Error{ErrorCode::retry_later, replies.error().detail}};
                   if (replies->front().is_error("NOSCRIPT")) return Answered<ReadJob>{read_job(run)};
                   return Answered<ReadJob>{job_answer(run, replies->front())};
                 }};
  }
  if (const auto* item = std::get_if<ReadItem>(&read)) {
    const core::LaneId lane = core::lane_of(item->run);
    const std::string place = place_of(item->run, item->activity);
    Servers::Question question{tag_of(lane), {}};
    // An item leaves its job's hash for the others, and never comes back: so the hash is read first.
    question.commands.add({"HMGET", keys_.of_run(item->run, "run"), hand_field, hand_input_field});
    question.commands.add({"HMGET", keys_.of_lane(lane, "items"), place, place + ":input", place + ":progress"});
    return Asked{std::move(question), [asked = *item, place](Result<Replies> replies) -> ReadAnswer {
                   if (!replies) return Answered<ReadItem>{Error{ErrorCode::retry_later, replies.error().detail}};
                   for (const Reply& reply : *replies)
                     if (reply.is_error()) return Answered<ReadItem>{Error{ErrorCode::retry_later, reply.text}};
                   if (const Reply& hand = replies->front(); !hand[0].is_nil()) {
                     auto held = read_item_in_hand(asked.run, hand[0].text, hand[1].text);
                     if (!held) return Answered<ReadItem>{held.error()};
                     if (held->activity == asked.activity)
                       return Answered<ReadItem>{std::optional<core::WorkItem>(std::move(*held))};
                   }
                   const Reply& row = replies->back();
                   if (row[0].is_nil()) return Answered<ReadItem>{std::optional<core::WorkItem>()};
                   auto read_back = read_item(place, row[0].text, row[1].text, row[2].text);
                   if (!read_back) return Answered<ReadItem>{read_back.error()};
                   return Answered<ReadItem>{std::optional<core::WorkItem>(std::move(*read_back))};
                 }};
  }
  return std::nullopt;
}

std::vector<ReadAnswer> Reader::read(pawl::store::Store& store, std::span<const Read> reads) {
  std::vector<ReadAnswer> answers;
  std::size_t bytes = 0;
  for (std::size_t first = 0; first < reads.size() && bytes < pawl::limits::read_answers_bytes;
       first += reads_at_once) {
    const auto chunk = reads.subspan(first, std::min(reads_at_once, reads.size() - first));
    std::vector<std::optional<Asked>> asked;
    std::vector<Servers::Question> questions;
    for (const Read& one : chunk) {
      asked.push_back(question_of(one));
      if (asked.back()) questions.push_back(std::move(asked.back()->question));
    }
    auto replies = servers_.ask_each(questions);
    std::size_t next = 0;
    for (std::size_t i = 0; i < chunk.size() && bytes < pawl::limits::read_answers_bytes; ++i) {
      answers.push_back(asked[i] ? asked[i]->answer(std::move(replies[next++]))
                                 : std::move(answer_each(store, chunk.subspan(i, 1)).front()));
      bytes += weight_of(answers.back());
    }
  }
  return answers;
}

}  // namespace pawl::store::redis
