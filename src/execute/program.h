// GraphProgram: one graph of a checked app as core's Program (core/program.h tells what each method is for and when it
// is called). Immutable; any thread may call it.
//
// All payloads are JSON text. A C++ worker's answer that is not JSON is read as a text. An error is the author's
// mistake and reads `activity "charge": input.maps./amount: ...`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "core/program.h"
#include "execute/documents.h"
#include "execute/plan.h"

namespace pawl::execute {

using core::Graph;
class Scene;

class GraphProgram final : public core::Program {
 public:
  // `graph` is an index into app->graphs.
  GraphProgram(std::shared_ptr<const AppPlan> app, std::uint32_t graph);

  // The program of a graph that assemble() made; null for any other.
  static const GraphProgram* of(const Graph& graph);
  const graph::App& app() const { return *app_->app; }
  const graph::Graph& source() const { return *plan_.graph; }
  void decision_begins() const override { documents_of_decision_begin(); }
  void decision_ends() const override { documents_of_decision_end(); }

  // For starting a job: the input to send, checked against input.schema; and the id that stats.id gives the job, if
  // any.
  Result<Payload> check_start(const Payload& input) const;
  Result<std::optional<JobId>> start_id(const Payload& input, Instant now = {}) const;
  // For signalling: the keys of the mailboxes where hooks of this app would wait for the signal. More than one when
  // hooks of the topic compare different parts of the payload.
  Result<std::vector<std::string>> keys_of(const Topic& topic, const Payload& payload) const;

  // For people: what a hook's `escalation` says, while it waits. None: it is no task.
  bool has_tasks() const;
  Result<std::optional<Payload>> task(const core::Sight& sight) const;

  Result<Payload> input(const core::Sight& sight) const override;
  Result<Topic> topic(const core::Sight& sight) const override;
  Result<std::optional<Duration>> timeout(const core::Sight& sight) const override;
  std::optional<Retry> retry(const Payload& request) const override;
  Result<std::int64_t> threshold(const core::Sight& sight) const override;
  Result<Wait> wait(const core::Sight& sight) const override;
  Result<Telling> signal(const core::Sight& sight) const override;
  Result<Telling> tell(const core::Sight& sight, const Topic& topic, const Payload& data,
                       const JobId& job) const override;
  Result<Child> child(const core::Sight& sight, const Payload& input) const override;
  Result<Ending> ending(const core::Sight& sight) const override;
  Result<Items> items(const core::Sight& sight) const override;
  Result<Payload> item(const Payload& items, std::uint32_t index) const override;
  Result<Payload> collect(const core::Sight& sight) const override;
  Result<Worked> work(const core::Sight& sight) const override;
  Result<std::vector<std::uint32_t>> fired(const core::Sight& sight) const override;
  const Topic& publishes() const override { return publishes_; }
  Payload shown(std::uint32_t node, const Payload& kept) const override;
  Said said(std::uint32_t node, const Payload& kept) const override;
  std::optional<Sent> sent(const core::Sight& sight) const override;
  Result<std::optional<Duration>> keep(const core::Sight& sight) const override;
  std::optional<std::string> mismatch(const core::Sight& sight, std::int32_t code) const override;

 private:
  template <class K>
  const K& kind_of_node(std::uint32_t node) const {
    return std::get<K>(plan_.activity(node).kind);
  }
  Payload handed_on(const core::Sight& sight) const;
  // What step 1 keeps, before the job's data; `kept` differs from `output` for hooks.
  struct Outcome;
  Result<Outcome> outcome(Scene& scene, const core::Sight& sight) const;
  Result<Outcome> hook_outcome(Scene& scene, const core::Sight& sight) const;
  Result<Outcome> join_outcome(Scene& scene, const core::Sight& sight) const;
  Result<Telling::All> to_all(Scene& scene, const core::Sight& sight, std::string topic) const;
  Status check_output(Scene& scene, const core::Sight& sight, const Outcome& outcome) const;
  Result<std::optional<Payload>> share(Scene& scene, const core::Sight& sight) const;
  Result<bool> fires(Scene& scene, const graph::Transition& edge) const;
  Result<std::optional<JobId>> job_id(const GraphPlan& of, const Payload& input, Instant now) const;

  std::shared_ptr<const AppPlan> app_;  // shared by the programs of one app
  const GraphPlan& plan_;
  const Topic publishes_;
  const bool looks_into_input_;
};

}  // namespace pawl::execute
