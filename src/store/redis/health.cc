#include "store/redis/health.h"

#include <map>

#include "base/format.h"
#include "store/redis/text.h"

namespace pawl::store::redis {

namespace {

constexpr int version_min = 7;

// "name:value" in the lines of INFO.
std::string info_field(std::string_view info, std::string_view name) {
  const std::string start = format("{}:", name);
  std::size_t at = info.substr(0, start.size()) == start ? 0 : info.find("\n" + start);
  if (at == std::string_view::npos) return {};
  if (info[at] == '\n') ++at;
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

Result<std::vector<Weakness>> look_at_node(Servers& servers, const Address& node) {
  Commands commands;
  commands.add({"INFO"});
  for (const char* name : {"appendonly", "appendfsync", "maxmemory", "maxmemory-policy"})
    commands.add({"CONFIG", "GET", name});
  const auto replies = servers.ask_node(node, commands);
  if (!replies) return Error{ErrorCode::retry_later, replies.error().detail};
  const std::string& info = (*replies)[0].text;
  if ((*replies)[0].is_error()) return Error{ErrorCode::unsupported, format("{}: {}", node.text(), info)};
  const std::string version = info_field(info, "redis_version");
  const auto major = number_in<int>(std::string_view(version).substr(0, version.find('.')));
  if (!major || *major < version_min)
    return Error{ErrorCode::unsupported, format("{} is Redis {}; at least {}.0 is needed", node.text(),
                                                version.empty() ? "of an unknown version" : version, version_min)};
  if (info_field(info, "role") != "master")
    return Error{ErrorCode::unsupported, format("{} is no master: only a master takes writes", node.text())};

  std::vector<Weakness> found;
  const auto weak = [&](std::string what) { found.push_back({node.text(), std::move(what)}); };
  std::map<std::string, std::string> settings;
  for (std::size_t i = 1; i < replies->size(); ++i)
    if ((*replies)[i].list.size() == 2) settings[(*replies)[i][0].text] = (*replies)[i][1].text;
  if (settings.size() < 4) weak("its settings cannot be read (CONFIG GET is not allowed): what it keeps is not known");
  const auto is = [&](const char* name, const char* value) {
    return !settings.contains(name) || settings[name] == value;
  };
  if (!is("appendonly", "yes"))
    weak("appendonly is no: a restart loses what came since the last snapshot");
  else if (!is("appendfsync", "always"))
    weak(format("appendfsync is {}: a crash of the server or its machine loses the last second or more",
                settings["appendfsync"]));
  if (!is("maxmemory", "0") && !is("maxmemory-policy", "noeviction"))
    weak(format("maxmemory-policy is {}: a full server throws jobs away; it must be noeviction",
                settings["maxmemory-policy"]));
  return found;
}

}  // namespace

Result<std::vector<Weakness>> look_at_health(Servers& servers) {
  const auto nodes = servers.masters();
  if (!nodes) return nodes.error();
  std::vector<Weakness> all;
  for (const Address& node : *nodes) {
    auto found = look_at_node(servers, node);
    if (!found) return found.error();
    all.insert(all.end(), found->begin(), found->end());
  }
  return all;
}

}  // namespace pawl::store::redis
