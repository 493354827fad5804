#include "runtime/doctor.h"

#include <sys/statvfs.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/format.h"
#include "store/lists.h"

namespace pawl::runtime {

namespace {

using Grade = Diagnosis::Grade;

constexpr Duration clocks_apart_max = std::chrono::seconds(2);
constexpr std::uint64_t disk_free_min = 1u << 30;
constexpr std::uint64_t log_large = 256u << 20;
constexpr std::size_t damaged_max = 100;
constexpr std::uint64_t progress_every = 1'000;

class Doctor {
 public:
  Doctor(OpenedStore& opened, const store::PoolInfo& pool, const Survey& survey)
      : opened_(opened), pool_(pool), survey_(survey) {}

  Result<std::vector<Diagnosis>> all(Instant own_clock, const std::string& path) {
    owner();
    settings();
    clock(own_clock);
    if (const auto looked = lanes(); !looked) return looked.error();
    if (opened_.lease == Duration{0} && path != ":memory:") files(path);
    topics();
    jobs();
    return std::move(found_);
  }

 private:
  void say(Grade grade, std::string what, std::string advice = "") {
    found_.push_back({grade, std::move(what), std::move(advice)});
  }

  void owner() {
    if (survey_.owner_alive) return say(Grade::good, format("{} processes run this store", survey_.engines.size()));
    say(Grade::bad, "no process runs this store",
        "start your program, or pawl run; what is asked of jobs waits for it");
  }

  void settings() {
    bool weak = false;
    for (const auto& [name, value] : survey_.store_settings) {
      if (name != "weaker than promised") continue;
      weak = true;
      say(Grade::bad, format("the server may lose what it acknowledged: {}", value),
          "change the setting (docs/POSTGRES.md, docs/REDIS.md)");
    }
    if (!weak) say(Grade::good, "the store keeps what it acknowledges");
  }

  void clock(Instant own) {
    const Duration apart = own < survey_.at ? survey_.at - own : own - survey_.at;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(apart).count();
    if (apart <= clocks_apart_max) return say(Grade::good, format("the clocks agree ({} ms apart)", ms));
    say(Grade::warning, format("this machine's clock and the store's are {} ms apart", ms), "synchronise them (NTP)");
  }

  Status lanes() {
    if (opened_.lease == Duration{0}) return {};
    std::uint32_t without = 0;
    for (std::uint32_t i = 0; i < pool_.lanes; ++i) {
      const auto lane = opened_.store->read_lane(core::LaneId(pool_.first.raw() + i));
      if (!lane) return lane.error();
      if (lane->owner.empty() || (lane->lease_until && *lane->lease_until <= survey_.at)) ++without;
    }
    if (without == 0) say(Grade::good, format("all {} lanes have an owner", pool_.lanes));
    if (without > 0 && survey_.owner_alive)
      say(Grade::warning, format("{} of {} lanes have no owner just now", without, pool_.lanes),
          "they are taken over within a lease; if this stays, look at the logs of the processes");
    return {};
  }

  void files(const std::string& path) {
    std::error_code failed;
    const std::string folder = std::filesystem::absolute(path, failed).parent_path().string();
    struct statvfs disk {};
    if (statvfs(folder.c_str(), &disk) == 0) {
      const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
      if (free >= disk_free_min)
        say(Grade::good, format("{} MB are free on the disk", free >> 20U));
      else
        say(Grade::bad, format("only {} MB are free on the disk", free >> 20U),
            "make room; when the disk is full nothing is accepted, and nothing is lost");
    }
    const std::uint64_t log = std::filesystem::file_size(path + "-wal", failed);
    if (!failed && log > log_large)
      say(Grade::warning, format("the log {}-wal has {} MB", path, log >> 20U),
          "a program keeps a transaction open on the file, such as a sqlite3 shell: end it");
    else
      say(Grade::good, "the side files are in order");
  }

  void topics() {
    bool well = true;
    for (const TopicView& topic : survey_.topics) {
      if (topic.stuck)
        say(Grade::bad, format("{} pieces of work of topic {} wait, and nobody takes any", topic.ready, topic.topic),
            "start the process that serves it");
      if (topic.paused)
        say(Grade::warning, format("topic {} is paused", topic.topic), format("pawl topics --resume {}", topic.topic));
      well = well && !topic.stuck && !topic.paused;
    }
    if (well) say(Grade::good, "no work is stuck");
  }

  void jobs() {
    const std::uint64_t failed = survey_.of(JobStatus::failed);
    const std::uint64_t parked = survey_.of(JobStatus::parked);
    if (parked > 0)
      say(Grade::bad, format("{} jobs are parked and wait for a person", parked),
          "pawl jobs --status parked, then pawl redrive --status parked");
    if (failed > 0)
      say(Grade::warning, format("{} jobs failed", failed),
          "pawl status names the errors; pawl redrive --status failed");
    if (failed == 0 && parked == 0) say(Grade::good, "no job failed or is parked");
  }

  OpenedStore& opened_;
  const store::PoolInfo& pool_;
  const Survey& survey_;
  std::vector<Diagnosis> found_;
};

}  // namespace

Result<std::vector<Diagnosis>> diagnose_store(OpenedStore& opened, const store::PoolInfo& pool, const Survey& survey,
                                              Instant own_clock, const std::string& store_name) {
  return Doctor(opened, pool, survey).all(own_clock, store_name);
}

Result<Verified> verify_store(OpenedStore& opened, const std::function<void(std::uint64_t)>& progress) {
  Verified verified;
  const auto damage = [&](std::string what) {
    if (verified.damaged.size() < damaged_max) verified.damaged.push_back(std::move(what));
  };
  if (const auto sound = opened.verify(); !sound) {
    if (sound.error().code != ErrorCode::corrupt) return sound.error();
    damage(sound.error().detail);
  }
  store::JobQuery query;
  query.filter.names_only = true;
  auto list =
      store::JobList::begin(*opened.store, std::move(query), store::ListOrder::newest_first, "", progress_every);
  if (!list) return list.error();
  for (;;) {
    const auto row = list->next();
    if (!row) return row.error();
    if (!*row) return verified;
    const auto job = opened.store->read_job((*row)->run);
    ++verified.jobs;
    if (!job && job.error().code == ErrorCode::corrupt)
      damage(format("job {}: {}", (*row)->id.raw(), job.error().detail));
    else if (!job)
      return job.error();
    if (progress && verified.jobs % progress_every == 0) progress(verified.jobs);
  }
}

}  // namespace pawl::runtime
