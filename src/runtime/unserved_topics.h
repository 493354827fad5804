// UnservedTopics: topics that nobody in this process serves though work waits for them. After limits::unserved_after
// the engine looks whether some of it still waits, and says so once for each topic, however many jobs there are.
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

inline constexpr std::chrono::seconds unserved_after{10};  // work that waited so long for a topic that nobody serves
inline constexpr std::size_t unserved_topics_max = 1000;   // is reported: once for each of so many topics

}  // namespace pawl::limits

namespace pawl::runtime {

class UnservedTopics {
 public:
  void waits(const Topic& topic, const WorkRef& ref, Duration now);
  void served(const Topic& topic) { topics_.erase(topic.raw()); }  // the next time it is not, that is said again

  struct Question {
    Topic topic{""};
    WorkRef ref;
  };
  // Work that has waited long enough to be asked about; each is given once.
  std::vector<Question> take_due(Duration now);
  // It still waits. True: that is to be said now.
  bool still_waits(const Topic& topic);
  // It does not: the next one of the topic is asked about.
  void is_gone(const Topic& topic);
  std::optional<Duration> next() const;

 private:
  struct Waiting {
    std::deque<std::pair<WorkRef, Duration>> refs;  // with the time to ask; the oldest first, some of them
    bool asked = false;                             // about one that is no longer in `refs`
    bool said = false;
  };
  std::map<std::string, Waiting> topics_;
};

}  // namespace pawl::runtime
