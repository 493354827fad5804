// UnservedTopics: topics that no worker of this process serves although work waits for them. After
// limits::unserved_after the engine checks whether some of it still waits, and reports it once for each topic,
// independent of the number of jobs.
// Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/ids.h"
#include "pawl/time.h"
#include "runtime/work_desk.h"

namespace pawl::limits {

inline constexpr std::chrono::seconds unserved_after{10};  // work that waited this long for an unserved topic
inline constexpr std::size_t unserved_topics_max = 1000;   // is reported: once for each of at most this many topics

}  // namespace pawl::limits

namespace pawl::runtime {

class UnservedTopics {
 public:
  void waits(const Topic& topic, const WorkRef& ref, Duration now);
  void served(const Topic& topic) { topics_.erase(topic.raw()); }  // if it is unserved again, that is reported again

  struct Question {
    Topic topic{""};
    WorkRef ref;
  };
  // Work that has waited long enough to be checked; each is returned once.
  std::vector<Question> take_due(Duration now);
  // It still waits. True: report it now.
  bool still_waits(const Topic& topic);
  // It does not wait any more: the next one of the topic is checked.
  void is_gone(const Topic& topic);
  std::optional<Duration> next() const;

 private:
  struct Waiting {
    std::deque<std::pair<WorkRef, Duration>> refs;  // with the time to check; the oldest first, some of them
    bool asked = false;                             // about one that is no longer in `refs`
    bool said = false;
  };
  std::map<std::string, Waiting> topics_;
};

}  // namespace pawl::runtime
