#include "cli/shell_worker.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <optional>

#include "cli/json_lines.h"
#include "cli/shell_command.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::int32_t code_failed = 500;
constexpr std::int32_t code_too_large = 413;
constexpr std::int64_t code_min = 100;
constexpr std::int64_t code_max = 999;
constexpr std::size_t names_max = 10'000;
constexpr std::size_t error_bytes_max = 2'000;  // kept of the standard error: its end

// Lines as they come; the last bytes stay for the message of an error.
class ErrorLines {
 public:
  explicit ErrorLines(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  void hear(std::string_view bytes) {
    tail_.append(bytes);
    if (tail_.size() > 2 * error_bytes_max) tail_.erase(0, tail_.size() - error_bytes_max);
    line_.append(bytes);
    for (auto end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
      say_(std::string_view(line_).substr(0, end));
      line_.erase(0, end + 1);
    }
    if (line_.size() > error_bytes_max) end();
  }
  void end() {
    if (!line_.empty()) say_(line_);
    line_.clear();
  }
  std::string last_lines() const {
    std::string_view kept(tail_);
    while (kept.ends_with('\n')) kept.remove_suffix(1);
    if (kept.size() > error_bytes_max) kept.remove_prefix(kept.size() - error_bytes_max);
    return std::string(kept);
  }

 private:
  const std::function<void(std::string_view)> say_;
  std::string line_;
  std::string tail_;
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.substr(0, error_bytes_max);
}

Reply error_of(const std::string& message, std::int32_t code) {
  return Reply::error(Payload(json::serialize(json::object{{"code", code}, {"message", message}})), code);
}

// The code that an object says it has.
std::int32_t code_in(const std::string& text) {
  json::error_code failed;
  const json::value value = json::parse(text, failed);
  const json::value* code = !failed && value.is_object() ? value.get_object().if_contains("code") : nullptr;
  if (code == nullptr || !code->is_int64()) return code_failed;
  return code->get_int64() >= code_min && code->get_int64() <= code_max ? static_cast<std::int32_t>(code->get_int64())
                                                                        : code_failed;
}

Reply failed_reply(const JsonLines& output, const std::string& errors, int exit_code) {
  if (output.is_json() && output.last()) return Reply::error(Payload(*output.last()), code_in(*output.last()));
  std::string message = trimmed(output.text());
  if (message.empty()) message = errors;
  if (message.empty()) message = fmt::format("the command ended with exit code {} and said nothing", exit_code);
  return error_of(message, code_failed);
}

Reply reply_of(const JsonLines& output, const std::string& errors, const ShellEnd& end) {
  if (output.too_large()) return error_of("the command printed more than a payload may hold (payload_bytes_max)", code_too_large);
  if (end.exit_code != 0) return failed_reply(output, errors, end.exit_code);
  if (!output.is_json())
    return error_of(fmt::format("the command's output is not JSON: {}", trimmed(output.text())), code_failed);
  return Reply::success(output.last() ? Payload(*output.last()) : Payload("{}"));
}

}  // namespace

Result<WorkerSpec> parse_worker_spec(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Error{ErrorCode::invalid, fmt::format("--worker {}: write TOPIC=COMMAND, such as mail.send='./send.sh'", text)};
  WorkerSpec spec{text.substr(0, equals), text.substr(equals + 1)};
  if (const auto named = check_name("topic", spec.topic); !named)
    return Error{ErrorCode::invalid, fmt::format("--worker {}: {}", text, named.error().detail)};
  return spec;
}

std::string ShellWorkers::name_of(RunId run) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = names_.find(run.raw()); known != names_.end()) return known->second;
  }
  std::string name = job_name_(run);
  const std::lock_guard lock(mutex_);
  if (names_.size() >= names_max) names_.clear();
  return names_.emplace(run.raw(), std::move(name)).first->second;
}

Reply ShellWorkers::run(const std::string& command, Work& work) {
  JsonLines output([&](std::string value) { work.pending(Payload(std::move(value))); });
  ErrorLines errors([&](std::string_view line) { say_(work.topic().raw(), line); });
  const ShellCommand shell{command,
                           {{"PAWL_TOPIC", work.topic().raw()},
                            {"PAWL_JOB", name_of(work.run())},
                            {"PAWL_KEY", work.idempotency_key()},
                            {"PAWL_TRY", std::to_string(work.attempt())}},
                           work.input().empty() ? "null\n" : work.input().str() + "\n"};
  const ShellListener listener{[&](std::string_view bytes) { output.hear(bytes); },
                               [&](std::string_view bytes) { errors.hear(bytes); },
                               [&] { return !work.cancelled() && !output.too_large(); }};
  const auto end = run_shell(shell, listener);
  if (!end) return error_of(end.error().detail, code_failed);
  output.end();
  errors.end();
  // Nobody waits for its word, or this process stops: then an error is no failed try, and a success would be one that
  // the command did not mean.
  if (end->ended_by_us && work.cancelled()) return error_of("the command was ended", code_failed);
  return reply_of(output, errors.last_lines(), *end);
}

}  // namespace pawl::cli
