#include <memory>

#include "base/format.h"
#include "base/invariant.h"
#include "sim/scenario_builder.h"
#include "sim/trace.h"

namespace pawl::sim {

namespace {

using core::ReplyStatus;

void deploy_all(runtime::GraphCatalog& catalog) {
  Builder("only").deploy(catalog);
  Builder("chain").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("fan").worker("a", "t").worker("b", "t").worker("c", "t").deploy(catalog);
  Builder("fan_chain")
      .worker("a", "t")
      .worker("b", "t")
      .worker("a2", "a")
      .worker("b2", "b")
      .worker("b3", "b2")
      .result_of("b3")
      .deploy(catalog);
  Builder("caught")
      .worker("a", "t")
      .worker("ok", "a")
      .worker("refund", "a", Condition::code(402))
      .worker("note", "refund")
      .deploy(catalog);
  Builder("uncaught").worker("a", "t").worker("b", "t").worker("c", "b").deploy(catalog);
  Builder("pending").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("twice").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("late").worker("a", "t").worker("b", "t").worker("c", "a").deploy(catalog);
  Builder deep("deep");
  for (int i = 0; i < 24; ++i) deep.worker(format("s{}", i), i == 0 ? std::string("t") : format("s{}", i - 1));
  deep.deploy(catalog);
  Builder("remote").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("poison").worker("a", "t").deploy(catalog);
  deploy_life(catalog);
  deploy_apps(catalog);
  deploy_transactions(catalog);
}

std::map<std::string, Behaviour> all_behaviours() {
  std::map<std::string, Behaviour> all;
  all["caught.a"] = {.status = ReplyStatus::error, .code = 402};
  all["uncaught.a"] = {.status = ReplyStatus::error, .code = 500};
  all["pending.a"] = {.pendings = 3};
  all["twice.a"] = {.pendings = 1, .answers_twice = true};
  all["twice.b"] = {.answers_twice = true};
  all["late.a"] = {.answers_late = true};
  all["late.b"] = {.status = ReplyStatus::error, .code = 500, .answers_late = true};
  all["remote.a"] = {.pendings = 1, .remote = true};
  all["remote.b"] = {.answers_twice = true, .remote = true};
  all["poison.a"] = {.kills_engine = true};
  add_life_behaviours(all);
  add_graph_behaviours(all);
  add_transaction_behaviours(all);
  return all;
}

std::vector<Scenario> build_all() {
  // It exists as long as the program: engines of every scenario hold references to it.
  static runtime::GraphCatalog catalog;
  deploy_all(catalog);
  Scenario base;
  base.graphs = &catalog;
  base.behaviours = all_behaviours();
  std::vector<Scenario> all;
  const auto add = [&](std::string name, std::vector<WantedJob> jobs, bool small = false) {
    Scenario scenario = base;
    scenario.name = std::move(name);
    scenario.jobs = std::move(jobs);
    scenario.small = small;
    all.push_back(std::move(scenario));
  };
  add("trigger_only", {job("j", "only")}, true);
  add("chain", {job("j", "chain")}, true);
  add("fan_out", {job("j", "fan")}, true);
  add("fan_out_then_chain", {job("j", "fan_chain")});
  add("caught_error", {job("j", "caught")}, true);
  add("uncaught_error", {job("j", "uncaught")}, true);
  add("pending", {job("j", "pending")}, true);
  add("duplicate_answers", {job("j", "twice")}, true);
  add("late_answers", {job("j", "late")});
  add("same_id", {job("j", "chain", 3), job("k", "chain", 2)});
  add("two_tenants", {job("j", "chain", 1, "left"), job("j", "caught", 1, "right")});
  add("deep_chain", {job("j", "deep")});
  add("remote_worker", {job("j", "remote")}, true);
  add("mixed", {job("a", "fan_chain"), job("b", "caught"), job("c", "uncaught"), job("d", "pending"), job("e", "twice"),
                job("f", "remote"), job("g", "only")});
  add("poison", {job("good", "chain"), job("bad", "poison")});
  all.back().poisoned = true;
  add_life_scenarios(base, all);
  add_graph_scenarios(base, all);
  add_transaction_scenarios(base, all);
  return all;
}

}  // namespace

const Behaviour& Scenario::behaviour(const std::string& topic) const {
  static const Behaviour succeeds;
  const auto found = behaviours.find(topic);
  return found == behaviours.end() ? succeeds : found->second;
}

const JobEnd* Scenario::find_end(const std::string& id) const {
  for (const JobEnd& end : ends)
    if (end.id == id) return &end;
  return nullptr;
}

std::vector<std::shared_ptr<const Graph>> Scenario::all_graphs() const {
  std::map<std::string, std::shared_ptr<const Graph>> all;
  for (const WantedJob& wanted : jobs) {
    const auto graph = graphs->newest(GraphName(wanted.graph));
    invariant(graph != nullptr, "a scenario deploys the graphs of its jobs");
    all.emplace(wanted.graph, graph);
    if (graph->program() == nullptr) continue;
    for (const auto& other : graphs->of_app(wanted.graph.substr(0, wanted.graph.find('/'))))
      all.emplace(other->name().raw(), other);
  }
  std::vector<std::shared_ptr<const Graph>> list;
  for (const auto& [its_name, graph] : all) list.push_back(graph);
  return list;
}

Payload reply_data(const std::string& topic, std::string_view input, const Behaviour& behaviour,
                   std::optional<std::uint32_t> pending) {
  if (behaviour.echoes) return Payload(std::string(input));
  std::string text =
      format("\"{}{}:{:016x}\"", topic, pending ? format("#{}", *pending) : "", hash_of(input) ^ hash_of(topic));
  text.append(behaviour.padding, ' ');
  return Payload(std::move(text));
}

Payload failure_data(const std::string& topic, std::string_view input) {
  return Payload(format("\"{} failed:{:016x}\"", topic, hash_of(input) ^ hash_of(topic)));
}

bool fails(const Behaviour& behaviour, std::uint32_t failures) {
  return core::is_error(behaviour.status) || failures < behaviour.fails_first;
}

bool is_silent(const Behaviour& behaviour, std::uint32_t failures, std::uint32_t runs) {
  return failures < behaviour.silent_tries || runs <= behaviour.silent_runs;
}

const std::vector<Scenario>& all_scenarios() {
  static const std::vector<Scenario> all = build_all();
  return all;
}

const Scenario* find_scenario(const std::string& name) {
  for (const Scenario& scenario : all_scenarios())
    if (scenario.name == name) return &scenario;
  return nullptr;
}

}  // namespace pawl::sim
