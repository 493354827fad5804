// The names of states, as people and JSON have them.
#include "pawl/view.h"

namespace pawl {

std::string_view name_of(JobStatus status) {
  switch (status) {
    case JobStatus::running:
      return "running";
    case JobStatus::completed:
      return "completed";
    case JobStatus::failed:
      return "failed";
    case JobStatus::interrupted:
      return "interrupted";
    case JobStatus::parked:
      return "parked";
    case JobStatus::paused:
      return "paused";
  }
  return "running";
}

std::string_view name_of(ActivityStatus status) {
  switch (status) {
    case ActivityStatus::open:
      return "open";
    case ActivityStatus::completed:
      return "completed";
    case ActivityStatus::errored:
      return "errored";
    case ActivityStatus::skipped:
      return "skipped";
    case ActivityStatus::cancelled:
      return "cancelled";
  }
  return "open";
}

std::string_view name_of(Effect effect) {
  switch (effect) {
    case Effect::none:
      return "none";
    case Effect::intended:
      return "intended";
    case Effect::started:
      return "started";
    case Effect::done:
      return "done";
    case Effect::failed:
      return "failed";
    case Effect::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace pawl
