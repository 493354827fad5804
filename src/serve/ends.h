// Ends: requests that wait for the end of a job. One callback of the runtime for each job, however many wait for it,
// and none once nobody does.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "pawl/view.h"
#include "runtime/end_watch.h"
#include "serve/exchange.h"
#include "serve/timers.h"

namespace pawl::serve {

class Ends {
 public:
  using Done = std::function<void(std::optional<Result<JobView>>)>;  // none: the time is over
  Ends(runtime::EndWatch& watch, Timers& timers) : watch_(watch), timers_(timers) {}

  // Calls `done` once, on another thread, unless the client is gone. False: too many wait already (waiting_max).
  bool wait(RunId run, Duration at_most, const ExchangePointer& exchange, Done done);
  void close();  // all that wait are told that their time is over

 private:
  struct Waiter {
    Done done;
    Timers::Number timer = 0;
  };
  struct Run {
    std::list<std::shared_ptr<Waiter>> waiters;
    std::uint64_t number = 0;  // of the runtime's callback; 0: it is being set
  };
  struct Shared {
    std::mutex mutex;
    std::unordered_map<RunId, Run> runs;  // guarded by mutex, like the rest
    std::size_t count = 0;
    bool closed = false;
    std::list<std::shared_ptr<Waiter>> take(RunId run);
    bool remove(RunId run, const Waiter* waiter, runtime::EndWatch& watch);
    void set_number(RunId run, std::uint64_t number, runtime::EndWatch& watch);
  };
  runtime::EndWatch& watch_;
  Timers& timers_;
  // A callback of the runtime may come after this is gone.
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace pawl::serve
