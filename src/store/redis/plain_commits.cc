#include "store/redis/plain_commits.h"

#include <algorithm>

#include "base/format.h"
#include "base/limits.h"
#include "store/check_limits.h"
#include "store/redis/answers.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

constexpr const char* needs_scripts = "this server has no scripts: only graphs of collation duplex can run there";

std::string micros(Instant at) { return format("{}", at.micros()); }

}  // namespace

Result<Outcome> PlainCommits::commit(const Operation& operation) {
  if (const auto fits = check_limits(operation); !fits) return rejected(fits.error().detail);
  return std::visit(
      [this](const auto& one) -> Result<Outcome> {
        using One = std::decay_t<decltype(one)>;
        // Operations that an engine sends regularly, for jobs that cannot exist here.
        constexpr bool is_idle =
            std::is_same_v<One, ClaimWork> || std::is_same_v<One, DropOutbox> || std::is_same_v<One, DropKeys>;
        if constexpr (requires { this->run(one); })
          return this->run(one);
        else if constexpr (is_idle)
          return committed();
        else
          return rejected(needs_scripts);
      },
      operation);
}

Result<Instant> PlainCommits::time_in(const Reply& reply) const {
  if (clock_ != nullptr) return clock_->now();
  const auto seconds = number_in<std::int64_t>(reply[0].text);
  const auto rest = number_in<std::int64_t>(reply[1].text);
  if (!seconds || !rest) return malformed("the server's time");
  return Instant::from_micros(*seconds * 1'000'000 + *rest);
}

// --- the catalogue

Result<Outcome> PlainCommits::in_catalogue(Look look,
                                           const std::function<Result<Chosen>(const Replies&, Instant)>& choose) {
  Commands questions;
  questions.add({"HGET", keys_.of_catalogue("store"), "id"});
  questions.add({"TIME"});
  questions.append(look.questions);
  look.questions = std::move(questions);
  look.watched.push_back(keys_.of_catalogue("store"));
  return attempt<Outcome>(servers_, catalogue_tag, nullptr, look,
                          [&](const Replies& seen, const AskMore&) -> Result<Chosen> {
                            if (seen[0].text != store_.text())
                              return watch_.another_store(core::LaneId(0), seen[0].text);
                            const auto now = time_in(seen[1]);
                            if (!now) return now.error();
                            return choose(Replies(seen.begin() + 2, seen.end()), *now);
                          });
}

Result<Outcome> PlainCommits::run(const OpenPool& open) {
  const std::string pools = keys_.of_catalogue("pools");
  Look look;
  look.watched = {pools};
  look.questions.add({"HGET", pools, open.pool.raw()});
  look.questions.add({"HGET", keys_.of_catalogue("store"), "lanes"});
  return in_catalogue(std::move(look), [&](const Replies& seen, Instant) -> Result<Chosen> {
    if (!seen[0].is_nil()) {
      const std::string has = seen[0].text.substr(seen[0].text.find(' ') + 1);
      if (has == format("{}", open.lanes)) return Chosen{already_done(), {}};
      return Chosen{
          rejected(format("pool {} has {} lanes for good; {} were asked for", open.pool.raw(), has, open.lanes)), {}};
    }
    if (open.lanes == 0 || open.lanes > pawl::limits::lanes_per_pool_max)
      return Chosen{rejected(format("a pool has 1 to {} lanes, not {}", pawl::limits::lanes_per_pool_max, open.lanes)),
                    {}};
    const std::uint32_t before = number_in<std::uint32_t>(seen[1].text).value_or(0);
    if (before + open.lanes > pawl::limits::lanes_max)
      return Chosen{rejected(format("all pools together have at most {} lanes", pawl::limits::lanes_max)), {}};
    Chosen chosen{committed(), {}};
    chosen.commands.add({"HINCRBY", keys_.of_catalogue("store"), "lanes", format("{}", open.lanes)});
    chosen.commands.add({"HSET", pools, open.pool.raw(), format("{} {}", before + 1, open.lanes)});
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const BeatEngine& beat) {
  const std::string engines = keys_.engines(beat.pool);
  Look look;
  look.watched = {engines};
  look.questions.add({"HGET", keys_.of_catalogue("pools"), beat.pool.raw()});
  look.questions.add({"HGETALL", engines});
  return in_catalogue(std::move(look), [&](const Replies& seen, Instant now) -> Result<Chosen> {
    if (seen[0].is_nil()) return Chosen{rejected(missing_pool(beat.pool)), {}};
    std::string said = engine_words(beat);
    Chosen chosen{committed(), {}};
    answer::Engines alive;
    for (std::size_t i = 0; i + 1 < seen[1].list.size(); i += 2) {
      auto engine = read_engine(seen[1][i].text, seen[1][i + 1].text);
      if (!engine) return engine.error();
      if (engine->name == beat.name) {
        // It has just started: the lanes that its previous process held count, even if that ended long ago.
        if (!beat.holds) said = format("{} {}", words_of(seen[1][i + 1].text)[2], words_of(said)[1]);
      } else if (engine->until <= now) {
        chosen.commands.add({"HDEL", engines, engine->name});
      } else {
        alive.engines.push_back(std::move(*engine));
      }
    }
    const std::string words = format("{} {} {}", micros(now + beat.lease), beat.leaving ? "1" : "0", said);
    auto own = read_engine(beat.name, words);
    if (!own) return own.error();
    alive.engines.push_back(std::move(*own));
    std::sort(alive.engines.begin(), alive.engines.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    chosen.commands.add({"HSET", engines, beat.name, words});
    chosen.outcome.answer = std::move(alive);
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const LeaveEngine& leave) {
  const std::string engines = keys_.engines(leave.pool);
  Look look;
  look.watched = {engines};
  look.questions.add({"HGET", engines, leave.name});
  return in_catalogue(std::move(look), [&](const Replies& seen, Instant) -> Result<Chosen> {
    if (seen[0].is_nil()) return Chosen{already_done(), {}};
    Chosen chosen{committed(), {}};
    chosen.commands.add({"HDEL", engines, leave.name});
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const PutApp& put) {
  const std::string apps = keys_.apps(put.name_space);
  const std::string version = name_of_version(put.app, put.version);
  Look look;
  look.watched = {apps};
  look.questions.add({"HGET", apps, "b:" + version});
  return in_catalogue(std::move(look), [&](const Replies& seen, Instant now) -> Result<Chosen> {
    if (!seen[0].is_nil())
      return Chosen{seen[0].text == put.body ? already_done() : outcome_of(OutcomeKind::exists, other_app(put)), {}};
    Chosen chosen{committed(), {}};
    chosen.commands.add({"HSET", apps, "b:" + version, put.body, "t:" + version, micros(now)});
    chosen.commands.add({"PUBLISH", keys_.bell(), format("{} 0 -g ", sender_)});
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const ActivateApp& activate) {
  const std::string apps = keys_.apps(activate.name_space);
  Look look;
  look.watched = {apps};
  look.questions.add({"HMGET", apps, "t:" + name_of_version(activate.app, activate.version), "a:" + activate.app});
  return in_catalogue(std::move(look), [&](const Replies& seen, Instant) -> Result<Chosen> {
    if (seen[0][0].is_nil()) return Chosen{rejected(missing_app(activate)), {}};
    if (seen[0][1].text == activate.version) return Chosen{already_done(), {}};
    Chosen chosen{committed(), {}};
    chosen.commands.add({"HSET", apps, "a:" + activate.app, activate.version});
    return chosen;
  });
}

// --- lanes

Result<Outcome> PlainCommits::in_lane(core::LaneId lane, const std::function<Chosen(const Owned&)>& choose) {
  const std::string key = keys_.of_lane(lane, "lane");
  const LaneOf of{watch_, lane};
  Look look;
  look.watched = {key};
  look.questions.add({"HMGET", key, "owner", "epoch", "lease", "store"});
  look.questions.add({"TIME"});
  return attempt<Outcome>(
      servers_, tag_of(lane), &of, look, [&](const Replies& seen, const AskMore&) -> Result<Chosen> {
        const auto now = time_in(seen[1]);
        if (!now) return now.error();
        Owned owned{seen[0][0].text, core::Epoch(number_in<std::uint64_t>(seen[0][1].text).value_or(0)), std::nullopt,
                    *now};
        if (const auto until = number_in<std::int64_t>(seen[0][2].text)) owned.until = Instant::from_micros(*until);
        Chosen chosen = choose(owned);
        if (chosen.commands.count() > 0 && seen[0][3].is_nil())
          chosen.commands.add({"HSET", key, "store", store_.text()});
        return chosen;
      });
}

Result<Outcome> PlainCommits::run(const AcquireLane& acquire) {
  const std::string key = keys_.of_lane(acquire.lane, "lane");
  return in_lane(acquire.lane, [&](const Owned& owned) {
    const bool is_taken = !owned.owner.empty() && owned.owner != acquire.owner;
    if (is_taken && (!owned.until || *owned.until > owned.now))
      return Chosen{outcome_of(OutcomeKind::conflict, owned.owner + " holds the lane"), {}};
    Chosen chosen{committed(), {}};
    answer::Lane taken{core::Epoch(owned.epoch.raw() + 1), std::nullopt};
    if (acquire.lease.count() != 0) taken.lease_until = owned.now + acquire.lease;
    chosen.commands.add({"HSET", key, "owner", acquire.owner, "epoch", format("{}", taken.epoch.raw())});
    if (taken.lease_until)
      chosen.commands.add({"HSET", key, "lease", micros(*taken.lease_until)});
    else
      chosen.commands.add({"HDEL", key, "lease"});
    chosen.outcome.answer = taken;
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const RenewLane& renew) {
  return in_lane(renew.lane, [&](const Owned& owned) {
    if (owned.owner.empty() || owned.epoch != renew.epoch) return Chosen{fenced(), {}};
    Chosen chosen{committed(), {}};
    const Instant until = owned.now + renew.lease;
    chosen.commands.add({"HSET", keys_.of_lane(renew.lane, "lane"), "lease", micros(until)});
    chosen.outcome.answer = answer::Lane{renew.epoch, until};
    return chosen;
  });
}

Result<Outcome> PlainCommits::run(const ReleaseLane& release) {
  return in_lane(release.lane, [&](const Owned& owned) {
    if (owned.epoch != release.epoch) return Chosen{fenced(), {}};
    if (owned.owner.empty()) return Chosen{already_done(), {}};
    Chosen chosen{committed(), {}};
    chosen.commands.add({"HDEL", keys_.of_lane(release.lane, "lane"), "owner", "lease"});
    chosen.commands.add({"PUBLISH", keys_.bell(), format("{} {} -l ", sender_, release.lane.raw())});
    return chosen;
  });
}

}  // namespace pawl::store::redis
