// A request to start a job, on its way into the engine.
#pragma once

#include <string>
#include <utility>

#include "pawl/ids.h"
#include "pawl/options.h"
#include "pawl/payload.h"

namespace pawl::runtime {

struct JobRequest {
  std::string graph;  // its name, or a topic that an app subscribes to
  Payload input;
  StartOptions options;
};

struct Submission {
  RunId run{0};
  bool created = false;  // false: the id was taken; `run` is the existing job
};

}  // namespace pawl::runtime
