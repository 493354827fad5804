// Every key of the graph language, and where it is allowed. Both the reader (read/) and the builder (build/) use this
// table, so that neither has a key that the other lacks: execute/builder_words_test.cc writes each key in both forms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pawl::graph {

enum class Level : std::uint8_t {
  app,
  graph,
  activity,  // of every kind
  trigger,
  worker,
  await,
  hook,
  signal,
  cycle,
  interrupt,
  join,
  map,
  stats,
  measure,
  schemas,  // input and output of a graph
  channel,  // input, output, job, signal, resolver
  retry,    // also below a code
  timeouts,
  transition,
  conditions,
  match,
  hook_rule,
  hook_conditions,
};

struct Word {
  Level level;
  std::string_view key;
};

std::span<const Word> words();
// Also a key of `activity` where `level` is a kind of activity.
bool is_word(Level level, std::string_view key);

}  // namespace pawl::graph
