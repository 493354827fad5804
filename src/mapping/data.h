// What an expression can read. Data holds pointers: each target must outlive the evaluation, and nothing is copied
// until an expression's result needs it. A null pointer is an absent scope; reading it gives the same as a missing key
// (docs/MAPPING.md, "Missing values").
//
// The values must be JSON: finite numbers, UTF-8 text, at most value_depth_max deep.
#pragma once

#include "pawl/time.h"

#include <boost/json/fwd.hpp>

#include <span>
#include <string_view>

namespace pawl {
class Random;
}

namespace pawl::mapping {

// {id.input.data...}, {id.output.metadata...}, {id.hook.data...} and so on.
struct ActivityValues {
  const boost::json::value* input_data = nullptr;
  const boost::json::value* input_metadata = nullptr;
  const boost::json::value* output_data = nullptr;
  const boost::json::value* output_metadata = nullptr;
  const boost::json::value* hook_data = nullptr;
  const boost::json::value* hook_metadata = nullptr;
};

struct NamedActivity {
  std::string_view id;
  ActivityValues values;
};

struct Data {
  ActivityValues self;                                // {$self...}: the activity being evaluated
  std::span<const NamedActivity> activities;          // {id...}: searched in order, so list what is used
  const boost::json::value* job_data = nullptr;       // {$job.data...}
  const boost::json::value* job_metadata = nullptr;   // {$job.metadata...}
  const boost::json::value* hook_data = nullptr;      // {$hook.data...}: only in a hook rule's `actual`
  const boost::json::value* hook_metadata = nullptr;  // {$hook.metadata...}
  const boost::json::value* app = nullptr;            // {$app...}
  const boost::json::value* graph = nullptr;          // {$graph...}
  Instant now;                                        // date.now, symbol.date, cron.nextDelay
  Random* random = nullptr;                           // math.random; without one it is an error
};

}  // namespace pawl::mapping
