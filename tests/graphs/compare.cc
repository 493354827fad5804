// Whether a case ended as expected.
#include <algorithm>

#include "base/format.h"
#include "graphs/player.h"
#include "mapping/json_parse.h"

namespace pawl::graphs {

namespace {

namespace json = boost::json;

json::value parsed(const std::string& text) {
  const auto value = mapping::parse_json(text);
  return value ? *value : json::value(text);
}

// 1 and 1.0 are one number.
bool same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  if (a.is_array() && b.is_array()) {
    if (a.get_array().size() != b.get_array().size()) return false;
    for (std::size_t i = 0; i < a.get_array().size(); ++i)
      if (!same(a.get_array()[i], b.get_array()[i])) return false;
    return true;
  }
  if (a.is_object() && b.is_object()) {
    if (a.get_object().size() != b.get_object().size()) return false;
    for (const auto& [key, value] : a.get_object()) {
      const json::value* other = b.get_object().if_contains(key);
      if (other == nullptr || !same(value, *other)) return false;
    }
    return true;
  }
  return a == b;
}

bool ledger_fits(const std::string& pattern, const std::string& digits, bool broken) {
  if (pattern.size() != digits.size()) return false;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (pattern[i] == 'x' || (broken && i < 3)) continue;  // a crash adds attempts
    if (pattern[i] != digits[i]) return false;
  }
  return true;
}

class Comparison {
 public:
  Comparison(const Played& played, bool broken) : played_(played), broken_(broken) {}

  void job(const std::string& id, const CaseJob& expect) {
    const auto found = played_.jobs.find(id);
    if (found == played_.jobs.end()) return say("there is no job " + id);
    const PlayedJob& job = found->second;
    if (expect.status && *expect.status != job.status)
      say(id + " is " + job.status + " (" + job.reason + "), expected " + *expect.status);
    const json::value data = parsed(job.data.empty() ? "{}" : job.data);
    if (expect.data && !same(*expect.data, data))
      say(id + " has the data " + json::serialize(data) + ", expected " + json::serialize(*expect.data));
    if (expect.reason && job.reason.find(*expect.reason) == std::string::npos)
      say(id + " has the reason \"" + job.reason + "\", expected \"" + *expect.reason + "\" in it");
    if (expect.code && *expect.code != job.code)
      say(id + " has the code " + std::to_string(job.code) + ", expected " + std::to_string(*expect.code));
    const bool in_time = !expect.took || broken_ ||  // a crash takes time
                         (job.took_seconds >= expect.took->first && job.took_seconds < expect.took->second);
    if (!in_time) say(id + " took " + std::to_string(job.took_seconds) + " seconds");
    for (const auto& [name, activity] : expect.activities) check(id, job, name, activity);
    if (expect.announced) list(id + " announced", job.announced, *expect.announced);
  }

  void list(const std::string& what, const json::array& seen, const json::array& expect) {
    if (!same(seen, expect)) say(what + " " + json::serialize(seen) + ", expected " + json::serialize(expect));
  }

  // Checked in every case.
  void always() {
    for (const auto& [id, job] : played_.jobs) {
      const bool closed = job.status == "completed" || job.status == "failed" || job.status == "interrupted";
      if (!closed) continue;
      if (job.semaphore != 0) say(id + " is closed at semaphore " + std::to_string(job.semaphore));
      if (job.completions != 1) say(id + " ran its completion tasks " + std::to_string(job.completions) + " times");
      if (job.left != 0) say(id + " is closed and has " + std::to_string(job.left) + " rows left");
    }
  }

  std::string text() const { return text_; }
  void say(const std::string& line) { text_ += line + "\n"; }

 private:
  void check(const std::string& id, const PlayedJob& job, const std::string& name, const CaseActivity& expect) {
    std::vector<const PlayedActivity*> instances;
    for (const PlayedActivity& one : job.activities)
      if (one.name == name) instances.push_back(&one);
    const std::string what = id + "." + name;
    if (expect.count && *expect.count != instances.size())
      say(what + " has " + std::to_string(instances.size()) + " instances, expected " + std::to_string(*expect.count));
    if (expect.ledgers) {
      std::string seen;
      bool fits = expect.ledgers->size() == instances.size();
      for (std::size_t i = 0; i < instances.size(); ++i) {
        seen += " " + instances[i]->ledger;
        fits = fits && i < expect.ledgers->size() && ledger_fits((*expect.ledgers)[i], instances[i]->ledger, broken_);
      }
      if (!fits) say(what + " has the ledgers" + seen);
    }
    if (expect.addresses) {
      std::string seen;
      bool fits = expect.addresses->size() == instances.size();
      for (std::size_t i = 0; i < instances.size(); ++i) {
        seen += " " + instances[i]->address;
        fits = fits && i < expect.addresses->size() && (*expect.addresses)[i] == instances[i]->address;
      }
      if (!fits) say(what + " stands at" + seen);
    }
    if (!expect.status && !expect.code && !expect.output) return;
    if (instances.empty()) return say(what + " was never opened");
    const PlayedActivity& last = *instances.back();
    if (expect.status && *expect.status != last.status)
      say(what + " is " + last.status + ", expected " + *expect.status);
    if (expect.code && *expect.code != last.code) say(what + " has the code " + std::to_string(last.code));
    if (expect.output && !same(*expect.output, parsed(last.output)))
      say(what + " has the output " + last.output + ", expected " + json::serialize(*expect.output));
  }

  const Played& played_;
  const bool broken_;
  std::string text_;
};

}  // namespace

std::string compare(const Case& one, const Played& played, bool broken) {
  Comparison comparison(played, broken);
  if (!played.problem.empty())
    comparison.say("it could not be played: " + played.problem);
  else
    comparison.job(played.main, one.expect);
  for (const auto& [id, job] : one.jobs) comparison.job(id, job);
  comparison.always();
  if (one.measures) comparison.list("measured were", played.measures, *one.measures);
  if (one.labels) comparison.list("found were", played.labels, *one.labels);
  for (const auto& [topic, count] : one.calls) {
    const auto seen = played.calls.find(topic);
    const std::uint32_t times = seen == played.calls.end() ? 0 : seen->second;
    if (broken ? times < count : times != count)
      comparison.say("topic " + topic + " was called " + std::to_string(times) + " times, expected " +
                     std::to_string(count));
  }
  return comparison.text();
}

std::string told(const Played& played, bool broken) {
  std::string text = "problem: " + played.problem + "\n";
  for (const auto& [id, job] : played.jobs) {
    text += format("{} {} code {} \"{}\" {} at {}, completed {}, left {}\n", id, job.status, job.code, job.reason,
                   job.data, job.semaphore, job.completions, job.left);
    if (!broken) text += format("  took {}\n", job.took_seconds);
    std::vector<std::string> lines;
    for (const PlayedActivity& one : job.activities)
      lines.push_back(format("  {} {} {} {} {} {}\n", one.address, one.name, broken ? one.ledger.substr(3) : one.ledger,
                             one.status, one.code, one.output));
    if (broken) std::sort(lines.begin(), lines.end());  // a fault may change which of two branches is opened first
    for (const std::string& line : lines) text += line;
    text += "  announced " + json::serialize(job.announced) + "\n";
  }
  if (!broken)
    for (const auto& [topic, times] : played.calls) text += format("{} called {} times\n", topic, times);
  return text + "measured " + json::serialize(played.measures) + "\nlabelled " + json::serialize(played.labels) + "\n";
}

}  // namespace pawl::graphs
