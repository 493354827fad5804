#include "sim/restore.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "base/format.h"
#include "base/random.h"
#include "core/secret.h"
#include "runtime/engine.h"
#include "sim/clock.h"
#include "sim/model.h"
#include "store/memory/store.h"

namespace pawl::sim {

namespace {

constexpr std::uint64_t rounds_max = 100'000;
constexpr std::uint64_t ids_max = 1'000;  // of submits in one history

class RestoreWorld final : public runtime::EngineEvents {
 public:
  RestoreWorld(const Scenario& scenario, core::Fusion fusion, std::uint64_t copy_at)
      : scenario_(scenario),
        fusion_(fusion),
        copy_at_(copy_at),
        store_(std::make_unique<store::memory::Store>(clock_)) {
    const store::Operation open = store::OpenPool{Pool("graphs"), 1};
    if (!store_->commit({&open, 1})) verdict_.fail("harness", "a new store takes no pool");
    if (copy_at_ == 0) keep_copy();
  }

  RestoreReport run(std::uint32_t histories) {
    for (history_ = 0; history_ < histories && verdict_.ok(); ++history_) {
      if (history_ > 0) put_back();
      boot();
      submit_all();
      run_to_the_end();
      if (history_ == 0) report_.commits = commits_;
    }
    report_.violation = verdict_.violation();
    return report_;
  }

 private:
  // One piece of work, identified without keys: which submit, which job of its family, which activity.
  using Name = std::tuple<std::uint64_t, std::string, std::uint32_t, std::string>;

  void keep_copy() {
    copy_ = std::make_unique<store::memory::Store>(*store_);
    copied_ = submits_of_;
  }
  void put_back() {
    engine_.reset();
    work_.clear();
    if (copy_ == nullptr) return verdict_.fail("harness", "the history is over before the copy was made");
    store_ = std::make_unique<store::memory::Store>(*copy_);
    submits_of_ = copied_;
  }
  void boot() {
    runtime::EngineOptions options;
    options.name = format("e{}", history_);
    options.seed = Random::mix(history_ + 1);
    options.fusion = fusion_;
    options.lease = std::chrono::hours(1);
    clock_.set(clock_.monotonic() + options.lease);  // the earlier owner of the lanes is gone
    engine_ = std::make_unique<runtime::Engine>(options, **store_->read_pool(Pool("graphs")), *store_, clock_,
                                                *scenario_.graphs, *this);
    for (const auto& graph : scenario_.all_graphs())
      for (const Graph::Node& node : graph->nodes())
        if (node.kind == Graph::Kind::worker) engine_->serve(node.topic);
    engine_->add_slots(4);
    engine_->tick();
  }
  void submit_all() {
    for (const WantedJob& wanted : scenario_.jobs) {
      const std::uint64_t number = ++submits_;
      // In the store this may be the id of a job that was lost; where the copy contains that id, another one is used.
      const auto taken = store_->find_run(Namespace(wanted.name_space), JobId(wanted.id));
      const std::string id = taken && *taken ? format("{}.{}", wanted.id, number) : wanted.id;
      engine_->submit({Namespace(wanted.name_space), JobId(id), GraphName(wanted.graph), input_of(wanted),
                       core::JobSecret(core::Guid{Random::mix(number), number})},
                      number);
    }
  }
  void run_to_the_end() {
    for (std::uint64_t round = 0; verdict_.ok(); ++round) {
      if (round > rounds_max) return verdict_.fail("liveness", "the run goes round in circles");
      engine_->pump();
      if (auto group = engine_->take_group()) {
        auto result = store_->commit(group->operations);
        ++commits_;
        engine_->finished(std::move(*group), std::move(result));
        if (history_ == 0 && commits_ == copy_at_) keep_copy();
      } else if (!work_.empty()) {
        const core::WorkItem item = std::move(work_.front());
        work_.pop_front();
        answer(item);
      } else {
        if (all_closed()) return;
        const auto wake = engine_->next_wake();
        if (!wake) return verdict_.fail("liveness", "jobs are open and nothing will happen");
        clock_.set(std::max(*wake, clock_.monotonic()));
        engine_->tick();
      }
    }
  }
  bool all_closed() const {
    const auto rows = store_->list_jobs({.rows_max = ids_max});
    return std::all_of(rows->begin(), rows->end(),
                       [](const core::JobRow& row) { return core::is_closed(row.status) && row.completions > 0; });
  }
  void answer(const core::WorkItem& item) {
    const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
    const bool failed = item.life.failures < behaviour.fails_first;
    engine_->answer({item.run, item.activity, item.token, item.request, failed ? behaviour.failure : behaviour.status,
                     failed ? behaviour.failure_code : behaviour.code,
                     failed ? failure_data(item.topic.raw(), item.input.view())
                            : reply_data(item.topic.raw(), item.input.view(), behaviour, std::nullopt),
                     0});
  }

  // The submit that a job goes back to, through its parents.
  std::uint64_t submit_of(RunId run) const {
    for (;;) {
      const auto known = submits_of_.find(run);
      if (known != submits_of_.end()) return known->second;
      const auto job = store_->read_job(run);
      if (!job || !*job || !(*job)->state.job.parent) return 0;
      run = (*job)->state.job.parent->run;
    }
  }
  void check(const core::WorkItem& item) {
    const auto job = store_->read_job(item.run);
    const core::Activity* activity = job && *job ? (*job)->state.find(item.activity) : nullptr;
    if (activity == nullptr) return verdict_.fail("invented", "work of an activity that does not exist");
    const Name name{submit_of(item.run), (*job)->state.job.id.raw(), activity->node, std::string(activity->at.text())};
    if (std::get<0>(name) == 0) return verdict_.fail("harness", "a job that nobody submitted");
    ++report_.works;
    const auto expect = [&](auto& given, const auto& what, const char* oracle) {
      const auto [at, is_new] = given.emplace(what, name);
      if (at->second != name)
        verdict_.fail(oracle, format("{} {} of submit {} was given to {} of submit {}", oracle, std::get<1>(name),
                                     std::get<0>(name), std::get<1>(at->second), std::get<0>(at->second)));
      return is_new;
    };
    if (!expect(keys_, core::idempotency_key(item, store_->id()), "key")) ++report_.repeated;
    expect(tokens_, std::tuple(item.run, item.activity, item.token), "token");
  }

  // runtime::EngineEvents
  void dispatch(const core::WorkItem& item) override {
    check(item);
    work_.push_back(item);
  }
  void cancel(const runtime::WorkRun&) override {}
  void probe(const core::WorkItem&) override {}
  void answered(runtime::Ticket, Result<store::Outcome>) override {}
  void submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) override {
    if (!result || !result->created) return verdict_.fail("harness", "a submit was refused");
    submits_of_[result->run] = ticket;
  }
  void committed(const core::JobState&, const core::Bundle&) override {}
  void closed(const core::JobRow&) override {}
  void problem(const std::string& text) override { verdict_.fail("problem", text); }
  void ring(core::LaneId, const store::Change&) override {}  // there is no other process

  const Scenario& scenario_;
  const core::Fusion fusion_;
  const std::uint64_t copy_at_;
  VirtualClock clock_;
  Verdict verdict_;
  std::unique_ptr<store::memory::Store> store_;
  std::unique_ptr<store::memory::Store> copy_;
  std::unique_ptr<runtime::Engine> engine_;
  std::deque<core::WorkItem> work_;
  std::uint32_t history_ = 0;
  std::uint64_t commits_ = 0;
  std::uint64_t submits_ = 0;
  std::map<RunId, std::uint64_t> submits_of_;  // in the current store
  std::map<RunId, std::uint64_t> copied_;      // in the copy
  std::map<core::Guid, Name> keys_;
  std::map<std::tuple<RunId, core::ActivitySeq, core::WorkToken>, Name> tokens_;
  RestoreReport report_;
};

}  // namespace

RestoreReport restore_at(const Scenario& scenario, core::Fusion fusion, std::uint64_t copy_at,
                         std::uint32_t histories) {
  return RestoreWorld(scenario, fusion, copy_at).run(histories);
}

const std::vector<std::string>& restore_scenarios() {
  static const std::vector<std::string> names = {"chain", "fan_out_then_chain", "tries_until_success", "await_success"};
  return names;
}

}  // namespace pawl::sim
