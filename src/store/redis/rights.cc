#include "store/redis/rights.h"

#include "base/format.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

namespace {

// Each command as it is used: K is a key, C the channel.
constexpr std::string_view always[] = {"get K",
                                       "set K v",
                                       "setnx K v",
                                       "incr K",
                                       "decr K",
                                       "del K",
                                       "exists K",
                                       "copy K K",
                                       "hget K f",
                                       "hset K f v",
                                       "hsetnx K f v",
                                       "hdel K f",
                                       "hexists K f",
                                       "hgetall K",
                                       "hkeys K",
                                       "hlen K",
                                       "hmget K f",
                                       "hincrby K f 1",
                                       "hstrlen K f",
                                       "sadd K m",
                                       "srem K m",
                                       "scard K",
                                       "sismember K m",
                                       "smembers K",
                                       "smove K K m",
                                       "zadd K 0 m",
                                       "zrem K m",
                                       "zcard K",
                                       "zcount K 0 1",
                                       "zrange K 0 1",
                                       "zscore K m",
                                       "xadd K * f v",
                                       "xdel K 1-0",
                                       "xlen K",
                                       "xrange K - +",
                                       "xtrim K MAXLEN 1",
                                       "xack K g 1-0",
                                       "xclaim K g c 0 1-0",
                                       "xpending K g",
                                       "xgroup|create K g 0",
                                       "xgroup|delconsumer K g c",
                                       "watch K",
                                       "unwatch",
                                       "multi",
                                       "exec",
                                       "eval s 0",
                                       "evalsha s 0",
                                       "eval_ro s 0",
                                       "evalsha_ro s 0",
                                       "publish C m",
                                       "subscribe C",
                                       "ping",
                                       "time",
                                       "info"};
constexpr std::string_view of_a_cluster[] = {"cluster|slots", "asking"};
constexpr std::string_view of_sentinels[] = {"role"};
constexpr std::string_view wished[] = {"config|get p"};  // without it the server's durability settings are unknown
constexpr std::string_view of_databases[] = {"select 1"};

constexpr std::string_view look = R"lua(#!lua flags=no-writes
local missing = {}
for _, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
  if not redis.acl_check_cmd(unpack(words)) then missing[#missing + 1] = words[1] end
end
return missing
)lua";

std::string_view name_in(std::string_view use) { return use.substr(0, use.find(' ')); }

// "xgroup|create K g 0" as the actual command.
std::string call_of(std::string_view use, const Keys& keys) {
  std::string text;
  for (const std::string_view word : words_of(use)) {
    if (!text.empty()) text += ' ';
    if (word == "K")
      text += keys.of_catalogue("rights");
    else if (word == "C")
      text += keys.bell();
    else
      for (const char letter : word) text += letter == '|' ? ' ' : letter;
  }
  return text;
}

}  // namespace

std::vector<std::string> least_rights(const std::string& prefix) {
  std::vector<std::string> rules = {"resetkeys", format("~{}:*", prefix), "resetchannels", "&" + Keys(prefix).bell(),
                                    "-@all"};
  const auto allow = [&](const auto& uses) {
    for (const std::string_view use : uses) rules.push_back(format("+{}", name_in(use)));
  };
  allow(always);
  allow(wished);
  allow(of_databases);
  allow(of_a_cluster);
  allow(of_sentinels);
  return rules;
}

std::vector<std::string> function_rights() { return {"+fcall", "+function|load"}; }

Result<bool> check_rights(Servers& servers, const Keys& keys) {
  std::vector<std::string> words = {"EVAL_RO", std::string(look), "0"};
  const auto need = [&](const auto& uses) {
    for (const std::string_view use : uses) words.push_back(call_of(use, keys));
  };
  need(always);
  if (servers.url().cluster) need(of_a_cluster);
  if (servers.url().has_sentinels()) need(of_sentinels);
  Commands commands;
  commands.add(words);
  commands.add({"EVALSHA", "0", "0"});  // replies "no such script", if the server has scripts
  const auto nodes = servers.masters();
  if (!nodes) return nodes.error();
  for (const Address& node : *nodes) {
    const auto replies = servers.ask_node(node, commands);
    if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
    const Reply& missing = replies->front();
    if (missing.is_error() && !(*replies)[1].is_error("NOSCRIPT")) return false;
    if (missing.is_error())
      return Error{ErrorCode::unsupported, format("{} refuses this user: {}", node.text(), missing.text)};
    std::string names;
    for (const Reply& name : missing.list) names += format("{}{}", names.empty() ? "" : ", ", name.text);
    if (!names.empty())
      return Error{ErrorCode::unsupported,
                   format("this user may not run {} on {}:* at {}; docs/REDIS.md has the rights that it needs", names,
                          keys.prefix(), node.text())};
  }
  return true;
}

}  // namespace pawl::store::redis
