// What calls of users' code have in common: the input, the messages that it may send, and the only place where its
// exceptions are caught. Internal to worker_call.cc and transaction_call.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/guid.h"
#include "core/job_state.h"
#include "pawl/worker.h"
#include "runtime/worker_call.h"

namespace pawl::runtime {

// Any thread may use it, as long as the worker runs.
class RunLine final : public detail::WorkLine {
 public:
  enum class Answers : std::uint8_t {
    many,
    one
  };  // one: it is committed with the worker's writes, so there is none before it

  RunLine(const core::WorkItem& item, const CallSite& site, Answers answers = Answers::many)
      : item_(item), site_(site), answers_(answers) {}

  void pending(Payload data, std::int32_t code) override;
  void heartbeat(Payload progress) override;
  bool cancelled() const override { return site_.cancelled.load(std::memory_order_relaxed); }

  // The worker sent something that no store accepts: the work fails because of it.
  std::optional<Reply> refusal();

 private:
  void note_life() const;
  void refuse(Reply reply) { refusal_ = std::move(reply); }  // REQUIRES: mutex_ is held

  const core::WorkItem& item_;
  const CallSite& site_;
  const Answers answers_;
  std::mutex mutex_;
  std::uint64_t pending_ = 0;             // guarded by mutex_
  std::size_t pending_bytes_ = 0;         // guarded by mutex_
  std::optional<Reply> refusal_;          // guarded by mutex_
  std::shared_ptr<Heartbeat> heartbeat_;  // guarded by mutex_
};

detail::WorkFacts facts_of(const core::WorkItem& item, const core::Guid& store);
bool fits(const Payload& data);
std::string words_of(const std::exception& error);
Reply failed_call(const std::string& why);  // a failed attempt
// Always returns a reply that can be accepted, whatever the code does.
Reply call_user(const std::function<Reply()>& code);
WorkReply answer_to(const core::WorkItem& item, const Reply& reply);

}  // namespace pawl::runtime
