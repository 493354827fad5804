// The replies that a test set for a mocked worker.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pawl/testing.h"

namespace pawl::testing {

struct MockWorker::Script {
  std::vector<Reply> failures;  // one attempt each, then
  std::optional<Reply> reply;   // none: {}
  Duration takes{0};
  bool never_answers = false;
};

struct MockWorker::State {
  std::string topic;
  const std::vector<Attempt>* history = nullptr;  // of all workers
  std::vector<Script> scripts = std::vector<Script>(1);
  struct Request {
    std::size_t script = 0;
    std::size_t attempts = 0;  // that were not lost
  };
  std::map<std::string, Request> requests;  // by idempotency key

  struct Answer {
    Reply reply;
    Duration after{0};
    bool silent = false;
  };
  Answer answer(const std::string& key);
  // The process died before the last reply was durable: the next attempt gets the same reply.
  void take_back(const std::string& key);
};

}  // namespace pawl::testing
