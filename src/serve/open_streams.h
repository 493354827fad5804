// OpenStreams: streams of work by the names that their clients gave them, so that a client can end its own by a
// request. Any thread may call it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace pawl::serve {

class OpenStreams {
 public:
  using End = std::function<void()>;

  // False: another one has this name.
  bool add(const std::string& name, End end) {
    const std::lock_guard lock(mutex_);
    return ends_.try_emplace(name, std::move(end)).second;
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    ends_.erase(name);
  }
  // False: there is none of this name.
  bool end(const std::string& name) {
    End call;
    {
      const std::lock_guard lock(mutex_);
      const auto found = ends_.find(name);
      if (found == ends_.end()) return false;
      call = std::move(found->second);
      ends_.erase(found);
    }
    call();
    return true;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, End> ends_;  // guarded by mutex_
};

}  // namespace pawl::serve
