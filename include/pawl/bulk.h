// One request to many jobs, those that a filter means.
//
//   void after_the_outage(pawl::Runtime& runtime) {
//     pawl::JobFilter filter;
//     filter.status = {pawl::JobStatus::failed, pawl::JobStatus::parked};
//     filter.error = "connection refused";
//     const auto done = runtime.bulk(filter, {.verb = pawl::BulkVerb::redrive});
//     if (done) std::printf("%llu jobs go on\n", static_cast<unsigned long long>(done->done));
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/ids.h"
#include "pawl/options.h"
#include "pawl/payload.h"
#include "pawl/view.h"

namespace pawl {

// What is asked of each. Of a filter without a status, those that are in a state for it are meant.
enum class BulkVerb : std::uint8_t { redrive, interrupt, remove, pause, resume, signal, cancel };
std::string_view name_of(BulkVerb verb);

struct BulkRequest {
  BulkVerb verb = BulkVerb::redrive;
  std::string reason{};  // of a pause, an interrupt or a cancellation
  RedriveOptions redrive{};
  RemoveOptions remove{};
  std::string topic{};     // of a signal, for the jobs that have a hook for it
  Payload data{};          // likewise
  SignalOptions signal{};  // likewise; under its id each job gets it once, however often it is repeated
};

struct BulkOptions {
  bool dry_run = false;  // each is checked, and nothing is asked of it
  std::function<void(std::uint64_t seen, std::uint64_t all)> progress{};
};

// Why some of them were left as they are.
struct BulkRefusal {
  std::string why;
  std::uint64_t jobs = 0;
  JobId example{""};
};

struct BulkSummary {
  std::uint64_t matched = 0;
  std::uint64_t done = 0;  // of a dry run: that could be done
  std::vector<BulkRefusal> refused{};
  std::vector<JobView> first{};  // the first ten that matched
};

}  // namespace pawl
