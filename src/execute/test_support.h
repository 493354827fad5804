// Shared by the tests of this folder: an app from a few lines of YAML, and a job built by hand.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/draft.h"
#include "execute/assemble.h"
#include "execute/program.h"
#include "graph/test_support.h"
#include "ledger/message_ledger.h"

namespace pawl::execute {

inline ledger::Dimensions at(std::string_view text) { return *ledger::Dimensions::parse(text); }

// 2024-02-29T13:05:09.007Z
inline constexpr Instant test_now = Instant::from_micros(1709211909007000);

class TestApp {
 public:
  explicit TestApp(const std::string& text) : text_(text) {
    const graph::Checked checked = graph::check_text(text);
    EXPECT_TRUE(checked.app) << graph::report_of(checked);
    auto made = assemble(checked.app, text);
    EXPECT_TRUE(made) << made.error().detail;
    graphs = std::move(*made);
  }
  // An app of one graph: `graph` is the text below its list item.
  static TestApp of_graph(std::string_view graph, std::string_view app_keys = "") {
    return TestApp(graph::app_with(graph, app_keys));
  }

  const GraphProgram& program(std::size_t graph = 0) const { return *GraphProgram::of(graphs[graph]); }
  std::uint32_t node(std::string_view name, std::size_t graph = 0) const {
    return graphs[graph].find(ActivityName(std::string(name))).value();
  }
  const Graph::Node& node_of(std::string_view name, std::size_t graph = 0) const {
    return graphs[graph].nodes()[node(name, graph)];
  }

  std::vector<Graph> graphs;

 private:
  std::string text_;
};

// A job that is partly done, and one step of it.
class TestStep {
 public:
  explicit TestStep(const TestApp& app, std::size_t graph = 0) : app_(app), graph_(graph) {
    state.job.run = RunId(42);
    state.job.name_space = Namespace("tenant");
    state.job.id = JobId("order-17");
    state.job.created_at = Instant::from_micros(1709211600000000);
  }

  // An instance that has answered, in plane 0 unless records are added.
  TestStep& ran(std::string_view activity, std::string_view address, Payload output, std::uint32_t entries = 1) {
    core::Activity instance;
    instance.seq = core::ActivitySeq(state.job.next_activity++);
    instance.node = app_.node(activity, graph_);
    instance.at = at(address);
    for (std::uint32_t i = 0; i < entries; ++i) instance.ledger = *instance.ledger.with_entry();
    instance.status = core::ActivityStatus::completed;
    instance.opened_at = Instant::from_micros(1709211601000000);
    instance.closed_at = Instant::from_micros(1709211602000000);
    instance.code = 200;
    instance.output = std::move(output);
    state.put(std::move(instance));
    return *this;
  }
  // Adds the output of another plane to the instance that was added last.
  TestStep& in_plane(std::uint32_t plane, Payload output) {
    ledger::ActivityLedger entered;
    for (std::uint32_t i = 0; i <= plane; ++i) entered = *entered.with_entry();
    core::MessageRecord record;
    record.guid = core::Guid{99, ++guids_};
    record.activity = core::ActivitySeq(state.job.next_activity - 1);
    record.ledger = *ledger::MessageLedger::opened_by(entered);
    record.output = std::move(output);
    state.put(std::move(record));
    return *this;
  }
  TestStep& data(Payload value) {
    state.job.data = std::move(value);
    return *this;
  }
  TestStep& input(Payload value) {
    input_ = std::move(value);
    return *this;
  }
  TestStep& answer(Payload value, core::ReplyStatus status = core::ReplyStatus::success, std::int32_t code = 200) {
    output_ = std::move(value);
    status_ = status;
    code_ = code;
    return *this;
  }

  TestStep& said_by(core::Speaker speaker) {
    speaker_ = speaker;
    return *this;
  }

  core::Sight sight(std::string_view activity, std::string_view address) {
    draft_.emplace(state);
    return core::Sight{*draft_,
                       app_.node(activity, graph_),
                       at(address),
                       test_now,
                       input_ ? &*input_ : nullptr,
                       output_ ? &*output_ : nullptr,
                       status_,
                       code_,
                       speaker_};
  }

  core::JobState state;

 private:
  const TestApp& app_;
  const std::size_t graph_;
  std::uint64_t guids_ = 0;
  std::optional<core::Draft> draft_;
  std::optional<Payload> input_;
  std::optional<Payload> output_;
  core::Speaker speaker_ = core::Speaker::answer;
  core::ReplyStatus status_ = core::ReplyStatus::success;
  std::int32_t code_ = 200;
};

inline std::string text_of_result(const Result<Payload>& result) {
  return result ? result->str() : "error: " + result.error().detail;
}

}  // namespace pawl::execute
