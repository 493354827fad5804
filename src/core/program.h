// Program: the expressions of a graph's author, as core sees them. Pure functions of the job's state: no I/O, no state.
// The graph language implements it (src/execute); a graph without a program hands inputs on unchanged.
//
// An error is a mistake of the author that only the data showed. It parks the job with the error text: the same
// expression would fail on the same data again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/carried.h"
#include "core/draft.h"
#include "core/message.h"
#include "ledger/dimensions.h"
#include "pawl/policy.h"
#include "pawl/result.h"

namespace pawl::core {

inline constexpr std::int32_t code_tries_over = 597;

// Where an expression is evaluated: an instance, in the plane that the last index of `at` names.
struct Sight {
  const Draft& draft;
  std::uint32_t node = 0;
  ledger::Dimensions at;
  Instant now;
  const Payload* input = nullptr;   // {$self.input.data}; null: not known here
  const Payload* output = nullptr;  // {$self.output.data}; of a hook that was signalled also {$self.hook.data}
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Speaker speaker = Speaker::answer;
};

class Program {
 public:
  virtual ~Program() = default;

  // A decision evaluates many expressions on the same data. Between these two calls they may share parsed data.
  virtual void decision_begins() const {}
  virtual void decision_ends() const {}

  // Leg 1. The input of a worker, a child or a pivot.
  virtual Result<Payload> input(const Sight& sight) const = 0;
  virtual Result<Topic> topic(const Sight& sight) const = 0;  // of a worker
  virtual Result<std::optional<Duration>> timeout(const Sight& sight) const = 0;
  // The retry rule that came with the work's request. None: the node's policy. When its attempts are used up, the
  // answer has the code code_tries_over.
  virtual std::optional<Retry> retry(const Payload&) const { return std::nullopt; }
  // The activity is skipped when at most this many obligations are open; a step 2 that leaves exactly this many closes
  // the job. 0: neither.
  virtual Result<std::int64_t> threshold(const Sight& sight) const = 0;

  struct Wait {  // a hook: if neither is set, it does not wait
    std::optional<Duration> sleep;
    std::optional<MailboxKey> mailbox;
  };
  virtual Result<Wait> wait(const Sight& sight) const = 0;

  struct Telling {  // a signal
    std::vector<MailboxKey> to;
    Payload data;
    ReplyStatus status = ReplyStatus::success;
    std::int32_t code = 200;
    struct All {  // instead of `to`: all jobs of a graph that have the label; tell() gives the mailbox of each
      GraphName graph;
      Label label;
      bool scrub = false;
      Topic topic;
    };
    std::optional<All> all{};
  };
  virtual Result<Telling> signal(const Sight& sight) const = 0;
  // The signal for one of the jobs that signal() addressed as a group.
  virtual Result<Telling> tell(const Sight& sight, const Topic& topic, const Payload& data, const JobId& job) const = 0;

  struct Child {  // an await; its input is input()
    GraphRef graph;
    std::optional<JobId> id;  // none: a name that is derived from the parent's
    bool awaits = true;
  };
  virtual Result<Child> child(const Sight& sight, const Payload& input) const = 0;

  struct Ending {                 // an interrupt
    std::optional<JobId> target;  // none: this job
    std::int32_t code = 410;
    std::string reason;
    bool throws = true;
    bool descend = false;
    std::optional<Duration> keep;
  };
  virtual Result<Ending> ending(const Sight& sight) const = 0;

  struct Items {    // a map
    Payload items;  // in the program's own form
    std::uint32_t count = 0;
    std::uint32_t parallel = 1;
  };
  virtual Result<Items> items(const Sight& sight) const = 0;
  virtual Result<Payload> item(const Payload& items, std::uint32_t index) const = 0;  // the map's output in its plane
  virtual Result<Payload> collect(const Sight& sight) const = 0;  // at the map's closing join, in an item's plane

  // Leg 2, step 1: what is kept of an answer. `sight.output` is the answer as it came.
  struct Worked {
    Payload output;
    std::optional<Payload> data;  // the job's new data; none: unchanged
    bool emits = false;           // the job's data so far is announced
    bool persists = false;        // the end is announced although the job continues
    std::vector<Label> labels{};  // of a trigger: the job's labels
    std::vector<Measure> measures{};
    Payload telemetry{};  // attributes of its span, for observers
  };
  virtual Result<Worked> work(const Sight& sight) const = 0;
  // Leg 2, step 2: which of the node's edges fire, as indices. `sight.output` is what step 1 kept.
  virtual Result<std::vector<std::uint32_t>> fired(const Sight& sight) const = 0;

  // The topic that the job announces itself to; empty: none.
  virtual const Topic& publishes() const = 0;

  // What is kept of an answer, in a form for people.
  virtual Payload shown(std::uint32_t node, const Payload& kept) const = 0;
  // What was answered, as it came, from what is kept of it. Of a hook also whose word it was.
  struct Said {
    Payload data;
    Speaker speaker = Speaker::answer;
  };
  virtual Said said(std::uint32_t, const Payload& kept) const { return {kept}; }
  // What an instance was sent, made again from the job as it stands: nothing keeps a request once it is answered.
  struct Sent {
    Payload input;
    bool sure = true;  // false: it reads the job's data, which may have changed since
  };
  virtual std::optional<Sent> sent(const Sight&) const { return std::nullopt; }

  // When the job closes. None: as long as the caller that started it asked for.
  virtual Result<std::optional<Duration>> keep(const Sight& sight) const = 0;
  // Why the job's data is not what the graph promises for a job that ends with this code (200: it completes). None: it
  // is.
  virtual std::optional<std::string> mismatch(const Sight& sight, std::int32_t code) const = 0;
};

}  // namespace pawl::core
