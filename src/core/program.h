// Program: what a graph's author wrote as expressions, as core sees it. Pure functions of the job as it stands: no
// I/O, no state of its own. The graph language implements it (src/execute); a graph without one hands inputs on as
// they are.
//
// An error is the author's mistake that only the data showed. It parks the job with its words: trying the same
// expression on the same data again would not mend it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/draft.h"
#include "core/message.h"
#include "ledger/dimensions.h"
#include "pawl/policy.h"
#include "pawl/result.h"

namespace pawl::core {

inline constexpr std::int32_t code_tries_over = 597;

// Whose word `output` is.
enum class Speaker : std::uint8_t {
  answer,  // whoever was asked; a kind that asks nobody answers itself
  signal,
  sleep,  // it is over
  cycle,  // it returned here
};

// Where an expression stands: an instance, in the plane that the last index of `at` names.
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

  // A decision asks many questions about the same data. Between these two the answers may share what they made of it.
  virtual void decision_begins() const {}
  virtual void decision_ends() const {}

  // Leg 1. What a worker, a child or a pivot is sent.
  virtual Result<Payload> input(const Sight& sight) const = 0;
  virtual Result<Topic> topic(const Sight& sight) const = 0;  // of a worker
  virtual Result<std::optional<Duration>> timeout(const Sight& sight) const = 0;
  // The rule for failed work that came with its request. None: the node's policy. When its tries have run out, the
  // answer has the code code_tries_over.
  virtual std::optional<Retry> retry(const Payload&) const { return std::nullopt; }
  // Skipped when no more obligations are open; a step 2 that leaves exactly so many closes the job. 0: neither.
  virtual Result<std::int64_t> threshold(const Sight& sight) const = 0;

  struct Wait {  // a hook: neither is a pass-through
    std::optional<Duration> sleep;
    std::optional<MailboxKey> mailbox;
  };
  virtual Result<Wait> wait(const Sight& sight) const = 0;

  struct Telling {  // a signal
    std::vector<MailboxKey> to;
    Payload data;
    ReplyStatus status = ReplyStatus::success;
    std::int32_t code = 200;
    struct All {  // instead of `to`: all jobs of a graph that have the label; tell() says where each is told
      GraphName graph;
      Label label;
      bool scrub = false;
      Topic topic;
    };
    std::optional<All> all{};
  };
  virtual Result<Telling> signal(const Sight& sight) const = 0;
  // What signal() said to all, for one of them.
  virtual Result<Telling> tell(const Sight& sight, const Topic& topic, const Payload& data, const JobId& job) const = 0;

  struct Child {  // an await; its input is input()
    GraphRef graph;
    std::optional<JobId> id;  // none: a name that follows from the parent's
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
    Payload items;  // as the program wants to see it again
    std::uint32_t count = 0;
    std::uint32_t parallel = 1;
  };
  virtual Result<Items> items(const Sight& sight) const = 0;
  virtual Result<Payload> item(const Payload& items, std::uint32_t index) const = 0;  // the map's output in its plane
  virtual Result<Payload> collect(const Sight& sight) const = 0;  // at the map's closing join, in an item's plane

  // Leg 2, step 1: what is kept of an answer. `sight.output` is the answer as it came.
  struct Worked {
    Payload output;
    std::optional<Payload> data;  // the job's, as it will be; none: as it is
    bool emits = false;           // the job's data so far is announced
    bool persists = false;        // the end is announced though the job goes on
    std::vector<Label> labels{};  // of a trigger: what the job is found by
    std::vector<Measure> measures{};
  };
  virtual Result<Worked> work(const Sight& sight) const = 0;
  // Leg 2, step 2: which of the node's edges fire, as indices. `sight.output` is what step 1 kept.
  virtual Result<std::vector<std::uint32_t>> fired(const Sight& sight) const = 0;

  // Where the job announces itself; empty: nowhere.
  virtual const Topic& publishes() const = 0;

  // What is kept of an answer, as people are shown it.
  virtual Payload shown(std::uint32_t node, const Payload& kept) const = 0;
  // What an instance was sent, made again from the job as it stands: nothing keeps a request once it is answered.
  struct Sent {
    Payload input;
    bool sure = true;  // false: it reads the job's data, which may have changed since
  };
  virtual std::optional<Sent> sent(const Sight&) const { return std::nullopt; }

  // When the job closes. None: as long as whoever started it asked for.
  virtual Result<std::optional<Duration>> keep(const Sight& sight) const = 0;
  // Why the job's data is not what a job that ends with this code promised (200: it completes). None: it is.
  virtual std::optional<std::string> misfit(const Sight& sight, std::int32_t code) const = 0;
};

}  // namespace pawl::core
