#include "cli/progress.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/utf8.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::size_t shown_bytes_max = 120;  // of a payload

std::string shown(const Payload& payload) {
  std::string text = printable(cut_utf8(payload.view(), shown_bytes_max));
  for (char& c : text)
    if (c == '\n') c = ' ';
  if (payload.size() > shown_bytes_max) text += "...";
  return text;
}

std::string with(std::string words, const Payload& payload) {
  if (payload.empty() || payload.view() == "{}") return words;
  return words + " " + shown(payload);
}

std::string opened_text(const Event& event) {
  if (event.waits_for)
    if (std::string text = wait_text(*event.waits_for, event.activity_kind); !text.empty()) return text;
  if (event.activity_kind == ActivityKind::cycle) return "next round";
  return "opened";
}

bool is_error(std::int32_t code) { return code >= 400; }

struct Said {
  Ink ink;
  std::string words;
};

Said words_for(const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::job_started:
      return {Ink::bold, "job started"};
    case Kind::activity_opened:
      return {Ink::blue, opened_text(event)};
    case Kind::activity_pending:
      return {Ink::cyan, with(event.activity_kind == ActivityKind::map ? "next item" : "pending", event.output)};
    case Kind::activity_closed:
      return {is_error(event.code) ? Ink::red : Ink::green,
              with(fmt::format("concluded, code {}", event.code), event.output)};
    case Kind::job_closed:
      return {Ink::bold, "job ended"};
    case Kind::job_parked:
      return {Ink::red, "job parked: it waits for a person"};
    case Kind::activity_retried:
      return {Ink::yellow,
              with(fmt::format("failed with code {}, next try at {}", event.code, clock_text(event.at)), event.output)};
    case Kind::activity_unknown:
      return {Ink::red, "nobody knows whether it acted"};
    case Kind::job_paused:
      return {Ink::yellow, "job paused"};
    case Kind::job_announced:
      return {Ink::cyan, with(event.code == 202 ? "announced" : "announced its end", event.output)};
    case Kind::job_resumed:
      return {Ink::bold, "job goes on"};
  }
  return {Ink::plain, ""};
}

// The part of the name of a child job that differs from the followed job's name.
std::string short_name(const std::string& job, const std::string& followed) {
  return job.starts_with(followed + "/") ? job.substr(followed.size()) : job;
}

Instant now() {
  return Instant::from_micros(
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::string clock_with_milliseconds(Instant at) { return time_text(at).substr(11, 12); }

}  // namespace

std::string clock_text(Instant at) {
  const std::string text = time_text(at);
  if (text.empty()) return "once";
  const bool today = text.substr(0, 10) == time_text(now()).substr(0, 10);
  return today ? text.substr(11, 8) : text.substr(0, 10) + " " + text.substr(11, 8);
}

std::string wait_text(const WaitView& wait, std::optional<ActivityKind> kind) {
  std::string text;
  if (kind == ActivityKind::worker)
    text = fmt::format("waits for a worker of {}", wait.topic);
  else if (!wait.topic.empty())
    text = fmt::format("waits for signal {} {}", wait.topic, printable(wait.key));
  else if (!wait.child.empty())
    text = fmt::format("waits for job {}", wait.child);
  else if (kind == ActivityKind::map)
    text = fmt::format("{} of {} items done", wait.done, wait.of);
  else if (kind == ActivityKind::join)
    text = fmt::format("{} of {} arrived", wait.done, wait.of);
  if (kind == ActivityKind::await && wait.wakes_at != Instant())
    text = fmt::format("tries again at {}", clock_text(wait.wakes_at));
  else if (wait.wakes_at != Instant())
    text += text.empty() ? fmt::format("sleeps until {}", clock_text(wait.wakes_at))
                         : fmt::format(" until {}", clock_text(wait.wakes_at));
  if (wait.times_out_at != Instant())
    text += fmt::format("{}times out at {}", text.empty() ? "" : ", ", clock_text(wait.times_out_at));
  return text;
}

void Progress::follow(const std::string& job) {
  const std::lock_guard lock(mutex_);
  job_ = job;
}

void Progress::print(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

void Progress::show(const Event& event) {
  if (volume_ == Volume::quiet) return;
  const Said said = words_for(event);
  // The time of a retry event is when the next attempt begins; the line shows when it was written.
  const Instant at = event.kind == Event::Kind::activity_retried ? now() : event.at;
  const std::lock_guard lock(mutex_);
  const std::string whose =
      job_.empty() || event.job.raw() == job_ ? "" : paint_(Ink::dim, short_name(event.job.raw(), job_) + "  ");
  print(fmt::format("{}  {}{:<16} {:<12} {}", clock_with_milliseconds(at), whose, event.activity.raw(), event.address,
                    paint_(said.ink, said.words)));
}

void Progress::say(const std::string& line) {
  if (volume_ == Volume::quiet) return;
  const std::lock_guard lock(mutex_);
  print(line);
}

void Progress::warn(const std::string& line) {
  const std::lock_guard lock(mutex_);
  print(paint_(Ink::yellow, line));
}

void Progress::command_says(const std::string& topic, std::string_view line) {
  if (volume_ == Volume::quiet) return;
  const std::lock_guard lock(mutex_);
  print(fmt::format("{}  {} {}", clock_with_milliseconds(now()), paint_(Ink::dim, topic + " |"), printable(line)));
}

}  // namespace pawl::cli
