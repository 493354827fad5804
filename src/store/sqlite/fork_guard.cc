#include "store/sqlite/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace pawl::store::sqlite {

namespace {

// Never destroyed: a fork may come while the process ends.
struct GuardedDescriptors {
  std::mutex mutex;
  std::vector<int> list;  // guarded by mutex
};

GuardedDescriptors& guarded() {
  static auto* const descriptors = new GuardedDescriptors;
  return *descriptors;
}

// The mutex is held across the fork, so that the child sees a complete list.
void watch_forks() {
  const auto before = [] { guarded().mutex.lock(); };
  const auto in_parent = [] { guarded().mutex.unlock(); };
  const auto in_child = [] {
    for (const int descriptor : guarded().list) close(descriptor);
    guarded().list.clear();
    guarded().mutex.unlock();
  };
  static const int done = pthread_atfork(before, in_parent, in_child);
  static_cast<void>(done);  // it fails only for lack of memory; then children keep the locks
}

}  // namespace

void close_in_children(int descriptor) {
  watch_forks();
  const std::lock_guard lock(guarded().mutex);
  guarded().list.push_back(descriptor);
}

void keep_in_children(int descriptor) {
  const std::lock_guard lock(guarded().mutex);
  std::erase(guarded().list, descriptor);
}

}  // namespace pawl::store::sqlite
