// Journal: what the workers did, written by them and never by the engine: every run begins with a
// line, and every answer is a line. The oracles compare what the store holds with what was really
// produced.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/guid.h"
#include "core/job_state.h"
#include "core/message.h"

namespace pawl::sim {

class Journal {
 public:
  struct Request {
    std::uint32_t begins = 0;
    std::uint32_t ends = 0;         // final answers
    std::set<std::string> outputs;  // of the final answers
  };

  void begin(const core::WorkItem& item) {
    ++requests_[item.request].begins;
    ++begins_;
  }
  void answer(const core::WorkItem& item, core::ReplyStatus status, std::uint64_t pending_index,
              const Payload& data) {
    using Purpose = core::Guid::Purpose;
    const bool final = status != core::ReplyStatus::pending;
    const core::Guid guid = final ? item.request.derive(Purpose::response_final, 0)
                                  : item.request.derive(Purpose::response_pending, pending_index);
    answers_[guid].insert(data.str());
    if (!final) return;
    Request& request = requests_[item.request];
    ++request.ends;
    request.outputs.insert(data.str());
  }

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
  std::uint64_t begins_ = 0;
};

}  // namespace pawl::sim
