// Workers whose own writes are committed with their replies.
#include <chrono>

#include "sim/scenario_builder.h"

namespace pawl::sim {

namespace {

using namespace std::chrono_literals;

Retry tries(std::uint32_t count) { return Retry().attempts(count).first_delay(20ms).longest_delay(100ms); }

}  // namespace

void deploy_transactions(runtime::GraphCatalog& catalog) {
  Builder("transfer").worker("take", "t").worker("give", "take").worker("tell", "give").deploy(catalog);
  Builder("payroll").worker("a", "t").worker("b", "t").worker("c", "t").worker("book", "a").deploy(catalog);
  Builder("unsteady").worker("take", "t").retry(tries(4)).worker("give", "take").deploy(catalog);
  Builder("stopped").worker("take", "t").worker("give", "take").deploy(catalog);
}

void add_transaction_behaviours(std::map<std::string, Behaviour>& all) {
  for (const char* topic : {"transfer.take", "transfer.give", "payroll.a", "payroll.b", "payroll.book", "unsteady.take",
                            "unsteady.give", "stopped.take", "stopped.give"})
    all[topic].transaction = true;
  all["unsteady.take"].fails_first = 2;
  all["transfer.give"].answers_twice = true;
  all["stopped.take"].takes = 40ms;
}

void add_transaction_scenarios(const Scenario& base, std::vector<Scenario>& all) {
  const auto add = [&](std::string name, std::vector<WantedJob> jobs, bool small, std::vector<Ask> asks = {}) {
    Scenario scenario = base;
    scenario.name = std::move(name);
    scenario.jobs = std::move(jobs);
    scenario.small = small;
    scenario.asks = std::move(asks);
    scenario.life = !scenario.asks.empty();
    all.push_back(std::move(scenario));
  };
  const auto ask = [](Ask::Kind kind, Duration at) {
    Ask asked;
    asked.kind = kind;
    asked.of = "j";
    asked.at = at;
    return asked;
  };
  add("transaction", {job("j", "transfer")}, true);
  add("transactions_side_by_side", {job("j", "payroll"), job("k", "transfer", 2)}, false);
  add("transaction_tried_again", {job("j", "unsteady")}, true);
  add("transaction_paused", {job("j", "stopped")}, false, {ask(Ask::Kind::pause, 20ms), ask(Ask::Kind::resume, 150ms)});
  add("transaction_interrupted", {job("j", "stopped"), job("k", "transfer")}, false, {ask(Ask::Kind::interrupt, 20ms)});
}

}  // namespace pawl::sim
