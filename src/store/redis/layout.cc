#include "store/redis/layout.h"

#include "base/format.h"
#include "store/redis/records.h"
#include "store/redis/watched.h"

namespace pawl::store::redis {

namespace {

constexpr std::uint64_t layout_without_number = 1;

std::optional<std::uint64_t> layout_in(const Reply& stored) {
  return stored.is_nil() ? layout_without_number : number_in<std::uint64_t>(stored.text);
}

}  // namespace

Status check_layout(const Servers& servers, const Reply& stored) {
  const auto number = layout_in(stored);
  if (!number) return malformed("the layout of the store");
  if (*number <= layout_number) return {};
  return Error{ErrorCode::unsupported, format("the store on {} has layout {}, this program knows layouts up to {}; use "
                                              "a newer program",
                                              servers.url().shown(), *number, layout_number)};
}

Status check_layout(Servers& servers, const Keys& keys) {
  Commands commands;
  commands.add({"HGET", keys.of_catalogue("store"), layout_field});
  const auto replies = servers.ask(catalogue_tag, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  const Reply& stored = replies->front();
  if (stored.is_error()) return Error{ErrorCode::unsupported, format("the store cannot be read: {}", stored.text)};
  return check_layout(servers, stored);
}

// Watched: another program may raise it between the look and the write.
Status join_layout(Servers& servers, const Keys& keys) {
  const std::string key = keys.of_catalogue("store");
  Look look;
  look.watched = {key};
  look.questions.add({"HGET", key, layout_field});
  const auto joined = attempt<bool>(
      servers, catalogue_tag, nullptr, look,
      [&](const std::vector<Reply>& seen, const AskMore&) -> Result<Decision<bool>> {
        const Reply& stored = seen[0];
        if (const auto known = check_layout(servers, stored); !known) return known.error();
        Decision<bool> raise{true, {}};
        if (layout_in(stored) < layout_number) raise.commands.add({"HSET", key, layout_field, decimal(layout_number)});
        return raise;
      });
  return joined ? Status{} : Status{joined.error()};
}

}  // namespace pawl::store::redis
