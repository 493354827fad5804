// LaneCall: one lane's group while the script applies it. The script stops where it needs more (another run's keys, a
// token); the rest is sent again with that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/encoder.h"
#include "store/redis/keys.h"
#include "store/redis/reply.h"

namespace pawl::store::redis {

struct LaneCallHeader {
  std::string now;
  std::string store;
  std::uint64_t seen_commits = 0;
  std::string sender;
  std::string bell;
};

class LaneCall {
 public:
  LaneCall(const Keys& keys, core::LaneId lane, std::vector<Encoded> operations, Words outboxes, RunId last_run);

  bool is_done() const { return next_ == operations_.size(); }
  std::size_t next() const { return next_; }  // the next operation to answer
  // The call as it is sent: all its keys and arguments. It must not outlive the LaneCall.
  struct Sent {
    Sent() = default;
    Sent(const Sent&) = delete;  // its arguments refer to its header
    Sent(Sent&&) = default;
    Sent& operator=(const Sent&) = delete;
    Sent& operator=(Sent&&) = delete;
    ~Sent() = default;

    Words keys;
    Words header;
    std::vector<std::string_view> arguments;  // those of the header, and those of the operations
  };
  Sent sent(const LaneCallHeader& header) const;

  // This many operations were answered, and the script wants this. False: it is unknown what it wants.
  bool advance(std::size_t answered, const Reply& wanted);
  RunId last_run() const { return last_run_; }

 private:
  std::vector<RunId> fresh_runs() const;

  const Keys& key_names_;
  const core::LaneId lane_;
  const std::vector<Encoded> operations_;
  const Words outboxes_;
  RunId last_run_;
  std::size_t next_ = 0;
  std::size_t spare_;  // runs that are declared beyond those that are needed
  std::set<RunId> extra_runs_;
  std::map<std::string, std::string> tokens_;
};

}  // namespace pawl::store::redis
