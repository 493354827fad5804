#include "cli/serve_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <map>

namespace pawl::cli {

namespace {

Error wrong(std::string why) { return {ErrorCode::invalid, std::move(why)}; }

using Set = std::function<void(const YAML::Node&)>;

Set text(std::string& into) {
  return [&into](const YAML::Node& node) { into = node.as<std::string>(); };
}
Set truth(bool& into) {
  return [&into](const YAML::Node& node) { into = node.as<bool>(); };
}
Set texts(std::vector<std::string>& into) {
  return [&into](const YAML::Node& node) {
    into = node.IsSequence() ? node.as<std::vector<std::string>>() : std::vector{node.as<std::string>()};
  };
}

}  // namespace

Status read_serve_file(const std::string& path, ServeSettings& settings, StoreOptions& store) {
  const std::map<std::string, Set> keys = {
      {"apps", texts(settings.apps)},
      {"store", text(store.store)},
      {"accept-weaker-store", truth(store.accept_weaker)},
      {"listen", text(settings.listen)},
      {"worker", texts(settings.workers)},
      {"workers", [&](const YAML::Node& node) { settings.threads = node.as<std::uint32_t>(); }},
      {"compress-payloads", [&](const YAML::Node& node) { settings.compress_payloads = node.as<std::size_t>(); }},
      {"token-file", text(settings.token_file)},
      {"tls-cert", text(settings.tls_cert)},
      {"tls-key", text(settings.tls_key)},
      {"accept-no-token", truth(settings.accept_no_token)},
      {"accept-no-tls", truth(settings.accept_no_tls)},
      {"allow-host", texts(settings.allow_hosts)},
      {"log", text(settings.log)},
      {"log-level", text(settings.log_level)},
      {"stop-within", text(settings.stop_within)},
      {"page", text(settings.page)},
      {"otlp", text(settings.otlp)},
  };
  try {
    const YAML::Node file = YAML::LoadFile(path);
    if (!file.IsMap()) return wrong(fmt::format("{}: it must be a map of settings", path));
    for (const auto& one : file) {
      const std::string key = one.first.as<std::string>();
      const auto found = keys.find(key);
      if (found == keys.end())
        return wrong(fmt::format("{}:{}: there is no setting {}; docs/SERVER.md lists them", path,
                                 one.first.Mark().line + 1, key));
      const bool named = key == "apps" ? !settings.apps.empty() : settings.given(key);
      if (named) continue;
      try {
        found->second(one.second);
      } catch (const YAML::Exception&) {
        return wrong(fmt::format("{}:{}: {} has a value of another kind", path, one.second.Mark().line + 1, key));
      }
    }
  } catch (const YAML::Exception& error) {
    return wrong(fmt::format("{} cannot be read: {}", path, error.what()));
  }
  return {};
}

}  // namespace pawl::cli
