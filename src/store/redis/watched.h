// How a commit works without a script: read what it depends on (WATCH), decide, write in one MULTI. If another process
// changed what was read, begin again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/redis/lane_watch.h"
#include "store/redis/limits.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

struct Look {
  std::vector<std::string> watched;
  Commands questions;
};
// Further commands, on the same connection.
using AskMore = std::function<Result<std::vector<Reply>>(const Commands&)>;

// The result of a read: an outcome at once, or commands that are committed together and the outcome they have then.
template <class Outcome>
struct Decision {
  Outcome outcome;
  Commands commands;  // none: nothing is written
};
template <class Outcome>
using Decide = std::function<Result<Decision<Outcome>>(const std::vector<Reply>& seen, const AskMore& ask)>;

// The lane of a commit: it is checked to be in order, and the commit counts there. None: the commit belongs to no lane.
struct LaneOf {
  LaneWatch& watch;
  core::LaneId lane;
};

template <class Outcome>
Result<Outcome> attempt(Servers& servers, std::string_view tag, const LaneOf* of, const Look& look,
                        const Decide<Outcome>& decide) {
  using Replies = std::vector<Reply>;
  Result<Outcome> outcome = Error{ErrorCode::retry_later, "others change the same again and again"};
  for (int i = 0; i < limits::guesses_max; ++i) {
    bool settled = false;
    const auto asked = servers.converse(tag, [&](Connection& connection) -> Result<Replies> {
      Commands first;
      std::vector<std::string> watch = {"WATCH"};
      watch.insert(watch.end(), look.watched.begin(), look.watched.end());
      first.add(watch);
      const std::uint64_t known = of == nullptr ? 0 : of->watch.ask(first, of->lane);
      first.append(look.questions);
      auto seen = connection.ask(first);
      // Nothing was written yet.
      if (!seen) return Error{ErrorCode::retry_later, seen.error().detail};
      for (const Reply& reply : *seen)
        if (reply.is_error() && !reply.is_error("NOGROUP")) return seen;  // the key moved, or the command is refused
      const Status whole = of == nullptr ? Status{} : of->watch.check(of->lane, (*seen)[1], known);
      seen->erase(seen->begin(), seen->begin() + (of == nullptr ? 1 : 2));
      Result<Decision<Outcome>> decision =
          whole.ok() ? decide(*seen, [&](const Commands& commands) { return connection.ask(commands); })
                     : Result<Decision<Outcome>>(whole.error());
      Commands last;
      const bool writes = decision && decision->commands.count() > 0;
      if (writes) last.add({"MULTI"});
      if (writes) last.append(decision->commands);
      if (writes && of != nullptr) of->watch.count(last, of->lane);
      last.add({writes ? "EXEC" : "UNWATCH"});
      auto done = connection.ask(last);
      if (!done) return writes ? done : Result<Replies>(Error{ErrorCode::retry_later, done.error().detail});
      settled = !writes || done->back().is_list();
      if (!decision)
        outcome = decision.error();
      else if (settled)
        outcome = std::move(decision->outcome);
      return done;
    });
    if (!asked) return asked.error();
    if (settled) {
      const std::vector<Reply>& parts = asked->back().list;
      for (const Reply& reply : parts)
        if (reply.is_error() && !reply.is_error("BUSYGROUP"))
          return Error{ErrorCode::outcome_unknown, "a part of the transaction failed: " + reply.text};
      if (of != nullptr && !parts.empty()) of->watch.saw(of->lane, static_cast<std::uint64_t>(parts.back().integer));
      return outcome;
    }
    for (const Reply& reply : *asked)
      if (reply.is_error("OOM") || reply.is_error("MISCONF") || reply.is_error("EXECABORT"))
        return Error{ErrorCode::retry_later, reply.text};
    for (const Reply& reply : *asked)
      if (reply.is_error()) return Error{ErrorCode::unsupported, reply.text};
  }
  return outcome;
}

}  // namespace pawl::store::redis
