// Observers of one kind: added and removed at any time, called one after the other. tell() is called by one thread at a
// time; it costs nothing while there are none.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pawl/subscription.h"

namespace pawl::runtime {

template <class News>
class Observers {
 public:
  using Observer = std::function<void(const News&)>;

  Subscription add(Observer observer) {
    if (!observer) return {};
    auto entry = std::make_shared<Entry>();
    entry->observer = std::move(observer);
    shared_->add(entry);
    // Weak: a subscription may outlive the runtime.
    return Subscription([shared = std::weak_ptr(shared_), entry] {
      if (const auto still = shared.lock()) still->remove(*entry);
    });
  }
  bool any() const { return shared_->count.load(std::memory_order_acquire) > 0; }
  void tell(const News& news) {
    if (any()) shared_->tell(news);
  }

 private:
  struct Entry {
    Observer observer;
    bool removed = false;  // guarded by the mutex of all
  };
  struct Shared {
    // Recursive: an observer may add and remove observers, itself too.
    std::recursive_mutex mutex;
    std::vector<std::shared_ptr<Entry>> entries;  // guarded by mutex
    std::atomic<std::size_t> count{0};            // of entries

    void add(std::shared_ptr<Entry> entry) {
      const std::lock_guard lock(mutex);
      entries.push_back(std::move(entry));
      count.store(entries.size(), std::memory_order_release);
    }
    void remove(Entry& entry) {
      const std::lock_guard lock(mutex);  // waits until no observer is being called
      entry.removed = true;
      std::erase_if(entries, [&](const auto& one) { return one.get() == &entry; });
      count.store(entries.size(), std::memory_order_release);
    }
    void tell(const News& news) {
      const std::lock_guard lock(mutex);
      const auto now = entries;  // the current ones; each may remove another
      for (const auto& entry : now)
        if (!entry->removed) entry->observer(news);
    }
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace pawl::runtime
