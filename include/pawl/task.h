// Tasks: waits for a person. A hook with `escalation` (docs/GRAPHS.md) is a task as long as it waits: it can be listed,
// claimed, resolved, and it times out with its hook.
//
//   pawl::Status take_one(pawl::Runtime& runtime, const std::string& me) {
//     const auto tasks = runtime.tasks({.role = "support", .unclaimed = true});
//     if (!tasks) return tasks.error();
//     if (tasks->empty()) return {};
//     const std::string& id = tasks->front().id;
//     if (const auto mine = runtime.claim_task(id, me); !mine) return mine;
//     return runtime.resolve_task(id, pawl::Payload("{\"yes\": true}"), {.who = me});
//   }
#pragma once

#include <cstdint>
#include <string>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

// All conditions must hold.
struct TaskFilter {
  std::string role{};  // empty: any, as for all of these
  std::string type{};
  std::string claimed_by{};
  bool unclaimed = false;  // only those that nobody has claimed
  std::string graph{};     // its name, APP/TOPIC
  std::string name_space{};
  std::string job{};    // the id of a job
  std::string after{};  // Task::cursor; empty: from the first one
  std::uint32_t rows_max = 100;
};

struct Task {
  std::string id;
  std::string cursor;  // the position after it
  Namespace name_space{""};
  JobId job{""};
  RunId run{0};
  GraphName graph{""};
  std::string activity;
  std::string address;
  std::string role, type, subtype, description;
  std::int64_t priority = 5;
  Payload fields;  // all of `escalation`, as JSON
  Instant opened_at;
  Instant times_out_at;    // with its hook; 0: it does not
  std::string claimed_by;  // empty: nobody
  Instant claimed_until;
};

struct ResolveOptions {
  std::string who{};  // needed if somebody has claimed it
  std::int32_t code = 200;
};

}  // namespace pawl
