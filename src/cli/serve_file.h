// The settings of pawl serve, and the file that may have them. What a flag or an environment variable says goes before
// the file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/job_target.h"
#include "pawl/result.h"

namespace pawl::cli {

struct ServeSettings {
  std::vector<std::string> apps;
  std::vector<std::string> workers;
  std::string listen = "127.0.0.1:8210";
  std::uint32_t threads = 4;
  std::size_t compress_payloads = 0;
  std::string token_file;
  std::string tls_cert;
  std::string tls_key;
  bool accept_no_token = false;
  bool accept_no_tls = false;
  std::vector<std::string> allow_hosts;
  std::string log = "text";
  std::string log_level = "info";
  std::string stop_within = "10s";
  std::string page;
  std::string otlp;
  std::function<bool(const std::string& option)> given;  // by flag or variable
};

// Keys are the options without their dashes: `listen: 0.0.0.0:8210`, `worker: [mail=./send.sh]`.
Status read_serve_file(const std::string& path, ServeSettings& settings, StoreOptions& store);

}  // namespace pawl::cli
