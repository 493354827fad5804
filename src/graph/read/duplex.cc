// What a graph under `collation: duplex` may contain. Its operations are single adds with no transaction around them,
// so it runs triggers and workers, and hands their answers on unchanged. Every other key is refused at its position:
// none is accepted and ignored.
#include <algorithm>
#include <boost/json.hpp>

#include "base/format.h"
#include "graph/read/read.h"

namespace pawl::graph {
namespace {

constexpr std::string_view instead = "or use collation: ledger, the default";

constexpr std::string_view graph_keys[] = {"subscribes", "title", "collation",  "input_from",
                                           "result_of",  "input", "activities", "transitions"};
constexpr std::string_view activity_keys[] = {"type", "subtype", "title", "settings", "topic"};
constexpr std::string_view trigger_keys[] = {"type", "subtype", "title", "settings", "stats"};

struct Reason {
  std::string_view key;
  std::string_view why;
};
// What to do instead, where there is an alternative.
constexpr Reason reasons[] = {
    {"input", "a worker is sent what its parent answered, as it is"},
    {"output", "what a worker answers is its output, as it is"},
    {"job", "a job has no data of its own; its result is what the last activity answered"},
    {"retry", "a worker is tried again after a crash only; let it try again itself"},
    {"timeout", "no time runs out; let the worker end by itself"},
    {"hooks", "nothing waits for signals"},
    {"publishes", "nothing is announced"},
    {"expire", "jobs stay with the store"},
    {"persistent", "jobs stay with the store"},
    {"on_error", "an error that nobody takes ends the job"},
};

class DuplexReader {
 public:
  DuplexReader(const Reader& reader, const Graph& graph) : reader_(reader), graph_(graph) {}

  void check(const Cursor& at) const {
    if (reader_.dialect() == Dialect::hotmesh)
      refuse(Cursor(at, *at.node().find_entry("collation")).key_where(),
             "collation: duplex cannot be used under compat: hotmesh, whose conditions it does not have; leave one of "
             "them out");
    only(at, graph_keys);
    if (const Entry* activities = at.node().find_entry("activities")) check_activities(Cursor(at, *activities));
    if (const Entry* transitions = at.node().find_entry("transitions")) check_transitions(Cursor(at, *transitions));
  }

 private:
  void refuse(const Where& where, std::string message) const {
    reader_.report(where, Code::not_under_duplex, std::move(message));
  }

  void only(const Cursor& at, std::span<const std::string_view> known) const {
    for (const Entry& entry : at.node().entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      const auto reason =
          std::find_if(std::begin(reasons), std::end(reasons), [&](const Reason& one) { return one.key == entry.key; });
      const std::string why = reason == std::end(reasons) ? "" : format(": {}", reason->why);
      refuse(Cursor(at, entry).key_where(),
             format("'{}' cannot be used under collation: duplex{}; remove it, {}", entry.key, why, instead));
    }
  }

  void check_activities(const Cursor& at) const {
    if (at.node().entries.size() != graph_.activities.size()) return;  // too many: reported already
    for (std::size_t i = 0; i < graph_.activities.size(); ++i) {
      const Entry& entry = at.node().entries[i];
      const Cursor here(at, entry);
      const Entry* type = entry.value.find_entry("type");
      if (type == nullptr) continue;  // reported already
      const Kind& kind = graph_.activities[i].kind;
      if (std::holds_alternative<Trigger>(kind)) {
        check_trigger(here);
      } else if (const auto* worker = std::get_if<Worker>(&kind)) {
        only(here, activity_keys);
        const boost::json::value* topic = worker->topic.expression.literal();
        if (topic == nullptr || !topic->is_string())
          refuse(
              worker->topic.where,
              format("under collation: duplex a topic is a plain text, not an expression; write it out, {}", instead));
      } else {
        // The kind as a whole is refused: its keys do not matter then.
        refuse(Cursor(here, *type).where(),
               format("collation: duplex runs triggers and workers only, not '{}'; take it out of this graph, {}",
                      name_of(kind), instead));
      }
    }
  }

  // The caller that starts a job computes its id.
  void check_trigger(const Cursor& at) const {
    only(at, trigger_keys);
    const Entry* stats = at.node().find_entry("stats");
    if (stats == nullptr) return;
    constexpr std::string_view stats_keys[] = {"id"};
    only(Cursor(at, *stats), stats_keys);
  }

  void check_transitions(const Cursor& at) const {
    constexpr std::string_view condition_keys[] = {"code"};
    for (const Entry& from : at.node().entries) {
      const Cursor list(at, from);
      for (std::size_t i = 0; i < from.value.items.size(); ++i) {
        const Cursor one(list, i);
        const Entry* conditions = one.node().find_entry("conditions");
        if (conditions == nullptr) continue;
        const Cursor here(one, *conditions);
        only(here, condition_keys);
        if (const Entry* codes = here.node().find_entry("code")) check_codes(Cursor(here, *codes));
      }
    }
  }

  void check_codes(const Cursor& at) const {
    const auto& items = at.node().items;
    const bool any_error = std::any_of(items.begin(), items.end(),
                                       [](const Node& item) { return item.is_text() && item.text == "error"; });
    if (any_error && items.size() > 1)
      refuse(
          at.where(),
          format("under collation: duplex a condition names codes or 'error', not both; leave one out, {}", instead));
  }

  const Reader& reader_;
  const Graph& graph_;
};

}  // namespace

void refuse_beyond_duplex(const Cursor& at, const Reader& reader, const Graph& graph) {
  DuplexReader(reader, graph).check(at);
}

}  // namespace pawl::graph
