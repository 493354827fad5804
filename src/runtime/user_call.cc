#include "runtime/user_call.h"

#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "base/limits.h"
#include "base/trace_context.h"
#include "base/utf8.h"
#include "runtime/token.h"

namespace pawl::runtime {

namespace {

constexpr std::int32_t code_exception = 500;
constexpr std::int32_t code_too_large = 413;

Reply error_of(std::int32_t code, std::string message) { return Failure{.code = code, .message = std::move(message)}; }
Reply fatal_of(std::string message) {
  return Failure{.code = code_exception, .message = std::move(message), .data = {}, .retryable = false};
}

Reply too_large(std::size_t bytes) {
  return error_of(code_too_large, format("the worker's output has {} bytes; at most {} are allowed (payload_bytes_max)",
                                         bytes, limits::payload_bytes_max));
}

Reply too_many() {
  return error_of(code_too_large,
                  format("the worker gave more than {} pending replies, or more than {} bytes of them, in one attempt "
                         "(pending_answers_max, pending_bytes_max)",
                         limits::pending_answers_max, limits::pending_bytes_max));
}

Reply one_answer() {
  return fatal_of("the worker gave a pending reply; one with a transaction answers once, when it returns");
}

WorkReply unsaid_answer(const core::WorkItem& item) { return {item.run, item.activity, item.token, item.request}; }

// A reply that can be accepted.
Reply checked(Reply reply) {
  if (!fits(reply.data())) return too_large(reply.data().size());
  const bool can_wait = reply.within() > Duration{0} && reply.within() <= limits::duration_max;
  if (reply.status() == Reply::Status::later && !can_wait)
    return fatal_of(
        format("the worker returned Reply::later within {} microseconds; the time must be more than 0 and "
               "at most 100 years (duration_max)",
               reply.within().count()));
  return reply;
}

core::ReplyStatus core_status_of(Reply::Status status) {
  switch (status) {
    case Reply::Status::success:
    case Reply::Status::later:
      return core::ReplyStatus::success;
    case Reply::Status::error:
      return core::ReplyStatus::error;
    case Reply::Status::fatal:
      return core::ReplyStatus::fatal;
  }
  return core::ReplyStatus::fatal;
}

}  // namespace

bool fits(const Payload& data) { return data.size() <= limits::payload_bytes_max; }

std::string words_of(const std::exception& error) { return kept_text(error.what(), limits::reason_bytes_max); }

Reply failed_call(const std::string& why) { return error_of(code_exception, why); }

Reply call_user(const std::function<Reply()>& code) {
  try {
    return checked(code());
  } catch (const Failure& failure) {
    return checked(Reply(failure));
  } catch (const std::exception& error) {
    return error_of(code_exception, error.what());
  } catch (const char* text) {
    return error_of(code_exception, text == nullptr ? "" : text);
  } catch (const std::string& text) {
    return error_of(code_exception, text);
  } catch (...) {
    return error_of(code_exception, "the worker threw something that is neither a pawl::Failure nor a std::exception");
  }
}

void RunLine::note_life() const {
  if (site_.last_sign_at != nullptr)
    site_.last_sign_at->store(SystemClock().monotonic().count(), std::memory_order_relaxed);
}

void RunLine::pending(Payload data, std::int32_t code) {
  note_life();
  const std::lock_guard lock(mutex_);
  if (refusal_) return;
  if (answers_ == Answers::one) return refuse(one_answer());
  if (!fits(data)) return refuse(too_large(data.size()));
  pending_bytes_ += data.size();
  if (pending_ >= limits::pending_answers_max || pending_bytes_ > limits::pending_bytes_max) return refuse(too_many());
  WorkReply interim = unsaid_answer(item_);
  interim.status = core::ReplyStatus::pending;
  interim.code = code;
  interim.data = std::move(data);
  interim.pending_index = pending_++;
  site_.tell(std::move(interim));
}

void RunLine::heartbeat(Payload progress) {
  note_life();
  const std::lock_guard lock(mutex_);
  if (refusal_) return;
  if (!fits(progress)) return refuse(too_large(progress.size()));
  if (!heartbeat_) heartbeat_ = std::make_shared<Heartbeat>(run_of(item_));
  if (heartbeat_->say(std::move(progress))) site_.tell(heartbeat_);
}

std::optional<Reply> RunLine::refusal() {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

namespace {

// What the worker continues: the span of its activity if somebody reports it, and otherwise the caller's.
std::string trace_of(const core::WorkItem& item) {
  if (!item.life.trace) return {};
  auto trace = read_trace(*item.life.trace);
  if (!trace) return {};
  if (trace->reported()) trace->span = span_of_activity(item.run.raw(), item.activity.raw());
  return trace->text();
}

}  // namespace

detail::WorkFacts facts_of(const core::WorkItem& item, const core::Guid& store) {
  const core::Guid key = core::idempotency_key(item, store);
  return {item.topic, item.run,   key.text(),         token_text(run_of(item), store),
          item.runs,  item.input, item.life.progress, trace_of(item)};
}

WorkReply answer_to(const core::WorkItem& item, const Reply& reply) {
  WorkReply answer = unsaid_answer(item);
  answer.status = core_status_of(reply.status());
  answer.code = reply.code();
  answer.data = reply.data();
  return answer;
}

}  // namespace pawl::runtime
