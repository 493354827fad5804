// Journal: what the workers did, written by them and never by the engine: a line for every begin of an attempt and for
// every reply. The oracles compare what the store holds with what was really produced.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/guid.h"
#include "core/job_state.h"
#include "core/message.h"

namespace pawl::sim {

class Journal {
 public:
  // A run that goes on for a failed one asks for the same work again, and counts its tokens from the beginning.
  using Attempt = std::pair<RunId, core::WorkToken>;
  static Attempt attempt_of(const core::WorkItem& item) { return {item.run, item.token}; }
  struct Began {
    Instant at;
    Instant last_sign;  // at the last heartbeat, or at the begin
    bool late = false;  // it sent no heartbeat for too long once
  };
  struct Request {
    std::uint32_t begins = 0;
    std::uint32_t ends = 0;         // final replies
    std::set<std::string> outputs;  // of the final replies
    std::map<Attempt, Began> begun;
    std::set<Attempt> failed;  // attempts that replied with a failure
  };

  // False: this same attempt was begun before.
  bool begin(const core::WorkItem& item, Instant now) {
    Request& request = requests_[item.request];
    ++request.begins;
    ++begins_;
    order_.push_back(item.run);
    return request.begun.emplace(attempt_of(item), Began{now, now}).second;
  }
  void beat(const core::WorkItem& item, Instant now) {
    Began& began = requests_[item.request].begun.at(attempt_of(item));
    if (now - began.last_sign >= item.life.heartbeat_timeout * 9 / 10) began.late = true;  // or nearly: clocks drift
    began.last_sign = now;
  }
  const Began* began(const core::WorkItem& item) const {
    const Request* found = find(item.request);
    if (found == nullptr) return nullptr;
    const auto run = found->begun.find(attempt_of(item));
    return run == found->begun.end() ? nullptr : &run->second;
  }
  void answer(const core::WorkItem& item, core::ReplyStatus status, std::uint64_t pending_index, const Payload& data) {
    using Purpose = core::Guid::Purpose;
    const bool final = status != core::ReplyStatus::pending;
    const core::Guid guid = final ? item.request.derive(Purpose::response_final, 0)
                                  : item.request.derive(Purpose::response_pending, pending_index);
    answers_[guid].insert(data.str());
    if (!final) return;
    Request& request = requests_[item.request];
    ++request.ends;
    request.outputs.insert(data.str());
    if (core::is_error(status)) request.failed.insert(attempt_of(item));
  }
  // A probe's answer about a lost attempt: what it did, or that it may run again.
  void probe(const core::WorkItem& item, const core::Guid& guid, const std::optional<Payload>& data) {
    if (!data) {
      retries_.insert({item.request, item.token});
      return;
    }
    answers_[guid].insert(data->str());
    requests_[item.request].outputs.insert(data->str());
  }

  bool has_failed(const core::WorkItem& item) const {
    const Request* found = find(item.request);
    return found != nullptr && found->failed.contains(attempt_of(item));
  }
  bool may_retry(const core::Guid& request, core::WorkToken token) const { return retries_.contains({request, token}); }
  const std::vector<RunId>& order() const { return order_; }  // of the begins

  bool produced(const core::Guid& guid) const { return answers_.contains(guid); }
  const Request* find(const core::Guid& request) const {
    const auto found = requests_.find(request);
    return found == requests_.end() ? nullptr : &found->second;
  }
  std::uint64_t begins() const { return begins_; }
  std::size_t requests() const { return requests_.size(); }

 private:
  std::unordered_map<core::Guid, Request> requests_;
  std::unordered_map<core::Guid, std::set<std::string>> answers_;
  std::set<std::pair<core::Guid, core::WorkToken>> retries_;
  std::vector<RunId> order_;
  std::uint64_t begins_ = 0;
};

}  // namespace pawl::sim
