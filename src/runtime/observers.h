// Observers of one kind: added and removed at any time, called one after the other. tell() is called by one thread at a
// time; it costs nothing while there are none. An observer's exception is passed to `complain` and has no other effect.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "pawl/subscription.h"
#include "runtime/thrown.h"

namespace pawl::runtime {

template <class News>
class Observers {
 public:
  using Observer = std::function<void(const News&)>;
  using Complain = std::function<void(const std::string&)>;
  explicit Observers(Complain complain) : complain_(std::move(complain)) {}

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
    if (any()) shared_->tell(news, complain_);
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
    void tell(const News& news, const Complain& complain) {
      const std::lock_guard lock(mutex);
      const auto now = entries;  // the current ones; each may remove another
      for (const auto& entry : now)
        if (!entry->removed) tell_one(*entry, news, complain);
    }
    static void tell_one(const Entry& entry, const News& news, const Complain& complain) {
      try {
        entry.observer(news);
      } catch (...) {
        complain("an observer threw: " + thrown_text());
      }
    }
  };
  const Complain complain_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace pawl::runtime
