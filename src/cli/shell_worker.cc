#include "cli/shell_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/trace_context.h"
#include "base/utf8.h"
#include "cli/job_filter.h"
#include "cli/json_lines.h"
#include "cli/shell_command.h"
#include "mapping/json_parse.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::int32_t code_failed = 500;
constexpr std::int32_t code_too_large = 413;
constexpr std::int32_t code_timeout = 408;
constexpr std::int64_t code_min = 100;
constexpr std::int64_t code_max = 999;
constexpr std::size_t names_max = 10'000;
constexpr std::size_t error_bytes_max = 2'000;  // of the standard error: its end is kept
constexpr std::size_t character_bytes_max = 4;  // in UTF-8
// until a command that could not be started is started again
constexpr auto first_pause = std::chrono::milliseconds(10);
constexpr auto longest_pause = std::chrono::milliseconds(1000);
constexpr auto look_at_pause_every = std::chrono::milliseconds(50);  // for the end of such a pause

// Prints lines as they come; keeps the last bytes for an error message.
class ErrorLines {
 public:
  explicit ErrorLines(std::function<void(std::string_view)> say) : say_(std::move(say)) {}

  void feed(std::string_view bytes) {
    tail_.append(bytes);
    if (tail_.size() > 2 * error_bytes_max) tail_.erase(0, tail_.size() - error_bytes_max - character_bytes_max);
    line_.append(bytes);
    std::string_view rest(line_);
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      say_(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    while (rest.size() > error_bytes_max + character_bytes_max) {
      const std::string_view part = cut_utf8(rest, error_bytes_max);
      say_(part);
      rest.remove_prefix(part.size());
    }
    line_ = std::string(rest);
  }
  void end() {
    if (!line_.empty()) say_(line_);
    line_.clear();
  }
  std::string last_lines() const {
    std::string_view kept(tail_);
    while (kept.ends_with('\n')) kept.remove_suffix(1);
    return valid_utf8(tail_utf8(kept, error_bytes_max));
  }

 private:
  const std::function<void(std::string_view)> say_;
  std::string line_;
  std::string tail_;
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return kept_text(text, error_bytes_max);
}

Reply error_of(const std::string& message, std::int32_t code) {
  return Reply::error(Payload(json::serialize(json::object{{"code", code}, {"message", message}})), code);
}

// The code in an object.
std::int32_t code_in(const std::string& text) {
  const auto value = mapping::parse_json(text);
  const json::value* code = value && value->is_object() ? value->get_object().if_contains("code") : nullptr;
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

// {"status": ..., "code": ..., "data": ...} and nothing else is an answer with its status and code. None: it is data.
std::optional<Reply> full_answer(const std::string& text) {
  const auto value = mapping::parse_json(text);
  if (!value || !value->is_object()) return std::nullopt;
  const json::object& object = value->get_object();
  const json::value* status = object.if_contains("status");
  if (status == nullptr || !status->is_string()) return std::nullopt;
  for (const auto& [name, member] : object)
    if (name != "status" && name != "code" && name != "data") return std::nullopt;
  const json::value* data = object.if_contains("data");
  const json::value* code = object.if_contains("code");
  const Payload payload(data == nullptr ? std::string("{}") : json::serialize(*data));
  const bool has_code =
      code != nullptr && code->is_int64() && code->get_int64() >= code_min && code->get_int64() <= code_max;
  const auto number = [&](std::int32_t otherwise) {
    return has_code ? static_cast<std::int32_t>(code->get_int64()) : otherwise;
  };
  const std::string_view word = status->get_string();
  if (word == "success") return Reply::success(payload, number(200));
  if (word == "error") return Reply::error(payload, number(code_failed));
  if (word == "fatal") return Reply::fatal(payload, number(code_failed));
  if (word == "later") return Reply::later();
  return std::nullopt;
}

Reply reply_of(const JsonLines& output, const std::string& errors, const ShellEnd& end) {
  if (output.too_much())
    return error_of(fmt::format("the command was ended: it printed {}", *output.too_much()), code_too_large);
  if (end.exit_code != 0) return failed_reply(output, errors, end.exit_code);
  if (output.why_broken() && output.why_broken()->code == ErrorCode::over_limit)
    return error_of(fmt::format("the command's output is {}", output.why_broken()->detail), code_failed);
  if (!output.is_json())
    return error_of(fmt::format("the command's output is not JSON: {}", trimmed(output.text())), code_failed);
  if (output.last())
    if (auto answer = full_answer(*output.last())) return *answer;
  return Reply::success(output.last() ? Payload(*output.last()) : Payload("{}"));
}

}  // namespace

namespace {

Status read_option(WorkerSpec& spec, const std::string& option) {
  const auto equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  std::uint32_t number = 0;
  const auto [rest, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = failed == std::errc{} && rest == value.data() + value.size() && number >= 1 && number <= 1000;
  if (name == "timeout") {
    const auto time = parse_age("timeout", value);
    if (!time) return time.error();
    spec.timeout = *time;
    return {};
  }
  if (name != "attempts" && name != "at-once")
    return Error{ErrorCode::invalid, fmt::format("there is no option {}; these are: attempts, timeout, at-once", name)};
  if (!is_number) return Error{ErrorCode::invalid, fmt::format("{} is a number from 1 to 1000, not {}", name, value)};
  (name == "attempts" ? spec.attempts : spec.at_once) = number;
  return {};
}

}  // namespace

Result<WorkerSpec> parse_worker_spec(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorCode::invalid, fmt::format("--worker {}: {}", text, why)};
  };
  const auto bracket = text.find('[');
  const auto equals =
      text.find('=', bracket != std::string::npos && bracket < text.find('=') ? text.find(']', bracket) : 0);
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return wrong(
        "write TOPIC=COMMAND, such as mail.send='./send.sh', or "
        "mail.send[attempts=3,timeout=30s,at-once=2]='./send.sh'");
  std::string name = text.substr(0, equals);
  WorkerSpec spec{"", text.substr(equals + 1)};
  if (name.ends_with(']') && name.find('[') != std::string::npos) {
    std::string options = name.substr(name.find('[') + 1);
    options.pop_back();
    name.resize(name.find('['));
    for (std::size_t at = 0; at <= options.size();) {
      const auto comma = std::min(options.find(',', at), options.size());
      if (const auto read = read_option(spec, options.substr(at, comma - at)); !read) return wrong(read.error().detail);
      at = comma + 1;
    }
  }
  spec.topic = name;
  if (const auto named = check_name("topic", spec.topic); !named) return wrong(named.error().detail);
  return spec;
}

std::optional<std::string> ShellWorkers::name_of(RunId run) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = names_.find(run.raw()); known != names_.end()) return known->second;
  }
  std::optional<std::string> name = job_name_(run);
  if (!name) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (names_.size() >= names_max) names_.clear();
  return names_.emplace(run.raw(), std::move(*name)).first->second;
}

bool ShellWorkers::enter(const WorkerSpec& spec, Work& work) {
  while (!work.cancelled()) {
    {
      const std::lock_guard lock(mutex_);
      std::uint32_t& running = running_[spec.topic];
      if (spec.at_once == 0 || running < spec.at_once) {
        ++running;
        return true;
      }
    }
    std::this_thread::sleep_for(look_at_pause_every);
  }
  return false;
}

void ShellWorkers::leave(const WorkerSpec& spec) {
  const std::lock_guard lock(mutex_);
  --running_[spec.topic];
}

// An attempt of the activity may start the command several times: then only the last failure is the attempt's.
Reply ShellWorkers::run(const WorkerSpec& spec, Work& work) {
  if (!enter(spec, work)) return error_of("the command was never started: nobody waits for it any more", code_failed);
  Reply reply = run_command(spec, work);
  auto pause = first_pause;
  for (std::uint32_t i = 1; i < spec.attempts && reply.status() == Reply::Status::error && !work.cancelled(); ++i) {
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::milliseconds>(2 * pause, longest_pause);
    reply = run_command(spec, work);
  }
  leave(spec);
  return reply;
}

Reply ShellWorkers::run_command(const WorkerSpec& spec, Work& work) {
  const auto wanted = [&] { return !work.cancelled(); };
  auto pause = first_pause;
  bool said = false;
  while (wanted()) {
    auto reply = try_once(spec, work);
    if (reply) return *std::move(reply);
    if (reply.error().code != ErrorCode::retry_later) return error_of(reply.error().detail, code_failed);
    // The job is not at fault when this machine lacks a resource: this is not a failed attempt, the command only begins
    // later.
    if (!std::exchange(said, true))
      warn_(
          fmt::format("{}: {}; it is tried again until it can be started: close what holds descriptors, processes or "
                      "memory (ulimit -n, ulimit -u)",
                      work.topic().raw(), reply.error().detail));
    const auto until = std::chrono::steady_clock::now() + pause;
    while (wanted() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(pause, look_at_pause_every));
    pause = std::min<std::chrono::milliseconds>(2 * pause, longest_pause);
  }
  return error_of("the command was never started: nobody waits for it any more", code_failed);
}

Result<Reply> ShellWorkers::try_once(const WorkerSpec& spec, Work& work) {
  const auto name = name_of(work.run());
  if (!name) return Error{ErrorCode::retry_later, "the job's id could not be read"};
  JsonLines output([&](std::string value) { work.pending(Payload(std::move(value))); });
  ErrorLines errors([&](std::string_view line) { say_(work.topic().raw(), line); });
  const auto begun = std::chrono::steady_clock::now();
  const auto in_time = [&] {
    return spec.timeout.count() == 0 || std::chrono::steady_clock::now() - begun < spec.timeout;
  };
  ShellCommand shell{spec.command,
                     {{"PAWL_TOPIC", work.topic().raw()},
                      {"PAWL_JOB", *name},
                      {"PAWL_KEY", work.key()},
                      {"PAWL_TRY", std::to_string(work.attempt())},
                      {"PAWL_ATTEMPT", std::to_string(work.attempt())},
                      {"PAWL_WORK_TOKEN", work.token()}},
                     work.input().empty() ? "null\n" : work.input().str() + "\n"};
  if (const auto trace = read_trace(work.trace())) {
    shell.environment.emplace_back("TRACEPARENT", trace->traceparent());
    if (!trace->state.empty()) shell.environment.emplace_back("TRACESTATE", trace->state);
  }
  const ShellListener listener{[&](std::string_view bytes) { output.feed(bytes); },
                               [&](std::string_view bytes) { errors.feed(bytes); },
                               [&] { return !work.cancelled() && !output.too_much() && in_time(); }};
  const auto end = run_shell(shell, listener);
  if (!end) return end.error();
  output.end();
  errors.end();
  // Its result is not needed any more, or this process stops: then an error is not a failed attempt, and a success
  // would not be what the command meant.
  if (end->ended_by_us && work.cancelled()) return error_of("the command was ended", code_failed);
  if (end->ended_by_us && !in_time() && !output.too_much())
    return error_of(fmt::format("the command was ended: it took longer than {} ms",
                                std::chrono::duration_cast<std::chrono::milliseconds>(spec.timeout).count()),
                    code_timeout);
  return reply_of(output, errors.last_lines(), *end);
}

}  // namespace pawl::cli
