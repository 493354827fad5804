// Document to model: one function per level of the language. Mistakes go to the reader; what could
// be read is returned, so that later checks can still find more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/model.h"
#include "graph/node.h"
#include "graph/read/reader.h"

namespace pawl::graph {

struct ReadOptions {
  bool force_hotmesh = false;  // as if the file had `compat: hotmesh`
};

// Empty only when the root is not an app at all.
std::optional<App> read_app(const Node& root, const ReadOptions& options, Mistakes& mistakes);

// ---- the levels below ----
Graph read_graph(const Cursor& at, const Reader& reader);
Activity read_activity(const Cursor& at, const Reader& reader);
void read_transitions(const Cursor& at, const Reader& reader, Graph& graph);
void read_hooks(const Cursor& at, const Reader& reader, Graph& graph);

// What `collation: duplex` cannot run: every key that it would have to ignore.
void refuse_beyond_duplex(const Cursor& at, const Reader& reader, const Graph& graph);

enum class ChannelKeys : std::uint8_t { schema_only, schema_and_maps };
Channel read_channel(const Cursor& at, const Reader& reader, ChannelKeys keys);

// Reads all keys of an activity: `common` are those every kind has, the kind adds its own.
Kind read_kind(std::string_view type, const Cursor& at, const Reader& reader, std::vector<Key> common);

std::vector<RetryRule> read_retry(const Cursor& at, const Reader& reader);
Stats read_stats(const Cursor& at, const Reader& reader);

}  // namespace pawl::graph
