// Keys: the names of everything in Redis. Keys of a lane have the lane's number as their hash tag, so they are on one
// node; keys of no lane have a separate tag. docs/REDIS.md lists all of them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "core/ids.h"
#include "core/message.h"
#include "pawl/ids.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

inline constexpr std::string_view catalogue_tag = "catalogue";
inline std::string tag_of(core::LaneId lane) { return format("{}", lane.raw()); }

// In the order in which scripts/lane.lua has them.
inline constexpr std::array<std::string_view, 20> lane_key_names = {
    "lane",      "ids",  "expiring", "waiting", "due",           "items",    "places", "ready",  "later", "paused",
    "mailboxes", "sent", "taken",    "signals", "announcements", "measures", "jobs",   "labels", "runs",  "begun"};
inline constexpr std::array<std::string_view, 5> run_key_names = {"run", "history", "inbox", "pending", "entries"};
inline constexpr std::size_t step_keys = 2;  // the first ones: all that a bundle without messages needs

class Keys {
 public:
  explicit Keys(std::string prefix) : prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  std::string of_lane(core::LaneId lane, std::string_view name) const {
    return format("{}:{{{}}}:{}", prefix_, lane.raw(), name);
  }
  std::string of_run(RunId run, std::string_view name) const {
    std::string key = prefix_;
    key += ":{";
    key += decimal(core::lane_of(run).raw());
    key += "}:";
    key += name;
    key += ':';
    key += decimal(run.raw());
    return key;
  }
  std::string outbox(core::LaneId from, core::LaneId to) const { return of_lane(from, format("out:{}", to.raw())); }

  std::string of_catalogue(std::string_view name) const { return format("{}:{{{}}}:{}", prefix_, catalogue_tag, name); }
  std::string engines(const Pool& pool) const { return of_catalogue("engines:" + pool.raw()); }
  std::string apps(const Namespace& name_space) const { return of_catalogue("apps:" + name_space.raw()); }

  std::string beginning() const { return prefix_ + ":{"; }  // of every key
  std::string bell() const { return prefix_ + ":bell"; }    // a channel

 private:
  std::string prefix_;
};

// Names inside of hashes and sorted sets, and how wide their parts are.
inline constexpr std::size_t run_digits = 20;
inline constexpr std::size_t guid_digits = 32;
inline constexpr std::size_t activity_digits = 10;
inline std::string place_of(RunId run, core::ActivitySeq activity) {
  return wide(run.raw()) + "." + wide_activity(activity.raw());
}
// Of a job whose only item is in its hash.
inline std::string hand_place(RunId run) { return wide(run.raw()) + "."; }
inline bool is_in_hand(std::string_view place) { return place.ends_with('.'); }
inline std::string name_of(const core::JobKey& key) { return joined(key.name_space.raw()) + joined(key.id.raw()); }
inline std::string name_of(const core::MailboxKey& key) {
  return joined(key.name_space.raw()) + joined(key.topic.raw()) + joined(key.key);
}
inline std::string name_of_version(const std::string& app, const std::string& version) {
  return joined(app) + joined(version);
}

}  // namespace pawl::store::redis
