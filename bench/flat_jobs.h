// The graphs of flat_bench, and a runtime that serves them.
#pragma once

#include <memory>
#include <string>

#include "jobs.h"
#include "pawl/pawl.h"

namespace pawl::bench {

// "one": one activity. "mends": a worker whose refusal another one takes. "sold/sells": as "one", with a label.
inline std::unique_ptr<Runtime> open_flat(const std::string& path) {
  static const char* const sold = R"(
app:
  id: sold
  version: "1"
  graphs:
    - subscribes: sells
      activities:
        begin:
          type: trigger
          stats:
            id: "{$self.input.data.id}"
            key: "k"
            measures: [{measure: index, target: "{$self.input.data.shop}"}]
        work: {type: worker, topic: flat.noop}
      transitions:
        begin: [{to: work}]
)";
  auto runtime = std::make_unique<Runtime>(must(open({.store = path, .worker_threads = 2})));
  must(runtime->deploy(must(GraphBuilder("one").trigger("begin").worker("work", "flat.noop").after("begin").build())));
  must(runtime->deploy(chain(10)));
  must(runtime->deploy(must(GraphBuilder("mends")
                                .trigger("begin")
                                .worker("work", "flat.noop")
                                .after("begin")
                                .worker("mend", "noop")
                                .after("work", Condition::error())
                                .build())));
  must(runtime->deploy(AppText(sold)));
  must(runtime->serve("noop", [](Work&) { return Reply::success(Payload("{}")); }));
  must(runtime->serve("flat.noop", [](Work& work) {
    return work.input() == Payload("\"refuse\"") ? Reply::error(Payload("the card was refused"), 409)
                                                 : Reply::success(Payload("{}"));
  }));
  return runtime;
}

}  // namespace pawl::bench
