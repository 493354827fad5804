#include "base/format.h"
#include "graph/limits.h"
#include "graph/read/read.h"

namespace pawl::graph {
namespace {

constexpr std::string_view on_error_words[] = {"fail", "drain"};
constexpr std::string_view collation_words[] = {"ledger", "duplex"};
constexpr std::string_view input_words[] = {"maps", "answers"};

void read_activities(const Cursor& at, const Reader& reader, Graph& graph) {
  if (!reader.expect_map(at)) return;
  if (at.node().entries.size() > plain_activities_max) {
    reader.report(at, Code::over_limit, format("more than {} activities in one graph", plain_activities_max));
    return;
  }
  if (at.node().entries.empty())
    reader.report(at, Code::no_trigger, "a graph has exactly one activity of type trigger");
  graph.activities.reserve(at.node().entries.size());
  for (const Entry& entry : at.node().entries) {
    const Cursor here(at, entry);
    if (!is_id(entry.key))
      reader.report(Where{entry.mark, here.path()}, Code::bad_name,
                    format("an id is 1 to {} letters, digits, - and _", id_bytes_max));
    graph.activities.push_back(read_activity(here, reader));
  }
}

// The activity whose answer is the job's result. If inputs are mapped, the result is the job's data instead.
void check_result(const Reader& reader, const Graph& graph) {
  if (graph.result_of.empty()) return;
  if (!graph.find(graph.result_of))
    reader.report(graph.result_where, Code::unknown_activity,
                  format("this graph has no activity '{}'", graph.result_of));
  if (graph.input_from != InputFrom::answers && graph.collation != Collation::duplex)
    reader.report(graph.result_where, Code::bad_value,
                  "'result_of' needs 'input_from: answers'; otherwise a job's result is what 'job.maps' share");
}

}  // namespace

Graph read_graph(const Cursor& at, const Reader& reader) {
  Graph graph;
  graph.where = at.where();
  const Key keys[] = {
      {"subscribes",
       [&](const Cursor& key) {
         graph.subscribes = reader.name(key).value_or("");
         graph.where.mark = key.mark();
       }},
      {"publishes", [&](const Cursor& key) { graph.publishes = reader.name(key).value_or(""); }},
      {"title", reader.into(graph.title)},
      {"expire", reader.into(graph.expire, Expect::seconds)},
      {"persistent", reader.into(graph.persistent, Expect::boolean)},
      {"on_error",
       [&](const Cursor& key) {
         if (reader.choice(key, on_error_words).value_or(0) == 1) graph.on_error = OnError::drain;
       }},
      {"collation",
       [&](const Cursor& key) {
         if (reader.choice(key, collation_words).value_or(0) == 1) graph.collation = Collation::duplex;
       }},
      {"input_from",
       [&](const Cursor& key) {
         if (reader.choice(key, input_words).value_or(0) == 1) graph.input_from = InputFrom::answers;
       }},
      {"result_of",
       [&](const Cursor& key) {
         graph.result_of = reader.text(key).value_or("");
         graph.result_where = key.where();
       }},
      {"input", [&](const Cursor& key) { graph.input = read_channel(key, reader, ChannelKeys::schema_only); }},
      {"output", [&](const Cursor& key) { graph.output = read_channel(key, reader, ChannelKeys::schema_only); }},
      {"activities", [&](const Cursor& key) { read_activities(key, reader, graph); }},
      {"transitions", {}},  // below: they name activities, which may come later in the file
      {"hooks", {}},
  };
  reader.keys(at, Level::graph, keys);
  if (const Entry* entry = at.node().find_entry("transitions")) read_transitions(Cursor(at, *entry), reader, graph);
  if (const Entry* entry = at.node().find_entry("hooks")) read_hooks(Cursor(at, *entry), reader, graph);
  if (graph.collation == Collation::duplex) refuse_beyond_duplex(at, reader, graph);
  check_result(reader, graph);
  if (graph.activities.size() > activities_max && !graph.is_plain()) {
    reader.report(graph.where, Code::over_limit,
                  format("more than {} activities in one graph with expressions", activities_max));
    graph.activities.clear();  // no further checks
    graph.transitions.clear();
  }
  for (const std::string_view required : {"subscribes", "activities"})
    if (at.node().find(required) == nullptr) reader.missing(at, required);
  return graph;
}

Channel read_channel(const Cursor& at, const Reader& reader, ChannelKeys allowed) {
  Channel channel;
  if (!reader.expect_map(at)) return channel;
  const bool maps = allowed == ChannelKeys::schema_and_maps;
  const auto read_coded = [&](const Cursor& here, int code) {
    std::vector<Key> keys{
        {"schema", [&](const Cursor& key) { channel.schema_by_code.emplace_back(code, reader.schema(key)); }}};
    if (maps)
      keys.push_back({"maps", [&](const Cursor& key) {
                        if (auto formula = reader.formula(key, Expect::map))
                          channel.maps_by_code.emplace_back(code, std::move(*formula));
                      }});
    reader.keys(here, maps ? Level::channel : Level::schemas, keys);
  };
  std::vector<Key> keys{{"schema", [&](const Cursor& key) { channel.schema = reader.schema(key); }}};
  if (maps) keys.push_back({"maps", reader.into(channel.maps, Expect::map)});
  for (const Entry& entry : at.node().entries)
    if (const auto code = parse_code(entry.key))
      keys.push_back({entry.key, [&read_coded, code](const Cursor& key) { read_coded(key, *code); }});
  reader.keys(at, maps ? Level::channel : Level::schemas, keys);
  return channel;
}

}  // namespace pawl::graph
