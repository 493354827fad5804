#include "graph/words.h"

#include <algorithm>

namespace pawl::graph {
namespace {

constexpr Word table[] = {
    {Level::app, "id"},
    {Level::app, "version"},
    {Level::app, "compat"},
    {Level::app, "settings"},
    {Level::app, "title"},
    {Level::app, "graphs"},

    {Level::graph, "subscribes"},
    {Level::graph, "publishes"},
    {Level::graph, "title"},
    {Level::graph, "expire"},
    {Level::graph, "persistent"},
    {Level::graph, "on_error"},
    {Level::graph, "collation"},
    {Level::graph, "input_from"},
    {Level::graph, "result_of"},
    {Level::graph, "input"},
    {Level::graph, "output"},
    {Level::graph, "activities"},
    {Level::graph, "transitions"},
    {Level::graph, "hooks"},

    {Level::activity, "type"},
    {Level::activity, "subtype"},
    {Level::activity, "title"},
    {Level::activity, "input"},
    {Level::activity, "output"},
    {Level::activity, "job"},
    {Level::activity, "telemetry"},
    {Level::activity, "emit"},
    {Level::activity, "persist"},
    {Level::activity, "statusThreshold"},
    {Level::activity, "statusThresholdType"},
    {Level::activity, "timeout"},
    {Level::activity, "settings"},
    {Level::activity, "eventName"},

    {Level::trigger, "stats"},
    {Level::trigger, "entity"},

    {Level::worker, "topic"},
    {Level::worker, "retry"},
    {Level::worker, "timeouts"},
    {Level::worker, "guarantee"},
    {Level::worker, "when_unknown"},
    {Level::worker, "priority"},
    {Level::worker, "compensate"},

    {Level::await, "topic"},
    {Level::await, "await"},
    {Level::await, "retry"},
    {Level::await, "compensate"},

    {Level::hook, "sleep"},
    {Level::hook, "hook"},
    {Level::hook, "cycle"},
    {Level::hook, "escalation"},
    {Level::hook, "compensate"},

    {Level::signal, "topic"},
    {Level::signal, "signal"},
    {Level::signal, "status"},
    {Level::signal, "code"},
    {Level::signal, "key_name"},
    {Level::signal, "key_value"},
    {Level::signal, "scrub"},
    {Level::signal, "resolver"},
    {Level::signal, "compensate"},

    {Level::cycle, "ancestor"},

    {Level::interrupt, "target"},
    {Level::interrupt, "topic"},
    {Level::interrupt, "reason"},
    {Level::interrupt, "code"},
    {Level::interrupt, "throw"},
    {Level::interrupt, "descend"},
    {Level::interrupt, "stack"},
    {Level::interrupt, "expire"},

    {Level::join, "need"},
    {Level::join, "others"},

    {Level::map, "items"},
    {Level::map, "parallel"},
    {Level::map, "collect"},
    {Level::map, "join"},

    {Level::stats, "id"},
    {Level::stats, "key"},
    {Level::stats, "parent"},
    {Level::stats, "adjacent"},
    {Level::stats, "granularity"},
    {Level::stats, "measures"},
    {Level::measure, "measure"},
    {Level::measure, "target"},

    {Level::schemas, "schema"},
    {Level::channel, "schema"},
    {Level::channel, "maps"},

    {Level::retry, "maximumAttempts"},
    {Level::retry, "initialInterval"},
    {Level::retry, "maximumInterval"},
    {Level::retry, "backoffCoefficient"},
    {Level::retry, "jitter"},
    {Level::retry, "within"},
    {Level::retry, "never_on"},
    {Level::retry, "when_exhausted"},

    {Level::timeouts, "attempt"},
    {Level::timeouts, "heartbeat"},
    {Level::timeouts, "queue"},
    {Level::timeouts, "total"},

    {Level::transition, "to"},
    {Level::transition, "conditions"},
    {Level::conditions, "code"},
    {Level::conditions, "gate"},
    {Level::conditions, "match"},
    {Level::match, "actual"},
    {Level::match, "expected"},
    {Level::hook_rule, "to"},
    {Level::hook_rule, "conditions"},
    {Level::hook_conditions, "gate"},
    {Level::hook_conditions, "match"},
};

bool is_kind(Level level) { return level >= Level::trigger && level <= Level::map; }

}  // namespace

std::span<const Word> words() { return table; }

bool is_word(Level level, std::string_view key) {
  return std::any_of(std::begin(table), std::end(table), [&](const Word& word) {
    return word.key == key && (word.level == level || (word.level == Level::activity && is_kind(level)));
  });
}

}  // namespace pawl::graph
