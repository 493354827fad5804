// Jobs of the graph language: what they start, await, signal and end in other lanes.
#include <chrono>
#include <cstdio>

#include "execute/assemble.h"
#include "graph/check.h"
#include "graph/report.h"
#include "sim/scenario_builder.h"

namespace pawl::sim {

namespace {

using namespace std::chrono_literals;
using core::JobStatus;
using Kind = Ask::Kind;

// The parent catches every end of its child; the parent chooses the child's id.
constexpr const char* family = R"(
app:
  id: family
  version: 1
  graphs:
    - subscribes: family.good
      activities:
        start_good: {type: trigger}
        call_good: {type: await, topic: family.child, input: {maps: {id: "{start_good.output.data.child}", n: 3}}, job: {maps: {got: "{$self.output.data.n}"}}}
        next_good: {type: worker, topic: family.next, input: {maps: {n: "{call_good.output.data.n}"}}}
      transitions: {start_good: [{to: call_good}], call_good: [{to: next_good}]}
    - subscribes: family.bad
      activities:
        start_bad: {type: trigger}
        call_bad: {type: await, topic: family.broken, input: {maps: {id: "{start_bad.output.data.child}"}}}
        caught_bad: {type: hook, job: {maps: {caught: true}}}
      transitions: {start_bad: [{to: call_bad}], call_bad: [{to: caught_bad, conditions: {code: 451}}]}
    - subscribes: family.taken
      activities:
        start_taken: {type: trigger}
        one_taken: {type: await, topic: family.child, await: false, input: {maps: {id: "{start_taken.output.data.child}", n: 1}}}
        two_taken: {type: await, topic: family.child, input: {maps: {id: "{start_taken.output.data.child}", n: 2}}}
        caught_taken: {type: hook, job: {maps: {taken: true}}}
      transitions: {start_taken: [{to: one_taken}], one_taken: [{to: two_taken}], two_taken: [{to: caught_taken, conditions: {code: 409}}]}
    - subscribes: family.forget
      activities:
        start_forget: {type: trigger}
        call_forget: {type: await, topic: family.child, await: false, input: {maps: {id: "{start_forget.output.data.child}", n: 4}}}
        next_forget: {type: worker, topic: family.next, input: {maps: {n: 9}}, job: {maps: {n: "{$self.output.data.n}"}}}
      transitions: {start_forget: [{to: call_forget}], call_forget: [{to: next_forget}]}
    - subscribes: family.hears
      activities:
        start_hears: {type: trigger}
        call_hears: {type: await, topic: family.talks, input: {maps: {id: "{start_hears.output.data.child}"}}}
        next_hears: {type: worker, topic: family.next, input: {maps: {n: "{call_hears.output.data.n}"}}}
      transitions: {start_hears: [{to: call_hears}], call_hears: [{to: next_hears}]}
    - subscribes: family.late
      activities:
        start_late: {type: trigger}
        call_late: {type: await, topic: family.stuck, timeout: 1, input: {maps: {id: "{start_late.output.data.child}"}}}
        late_late: {type: hook, job: {maps: {late: true}}}
      transitions: {start_late: [{to: call_late}], call_late: [{to: late_late, conditions: {code: 596}}]}
    - subscribes: family.fails
      activities:
        start_fails: {type: trigger}
        call_fails: {type: await, topic: family.stuck, input: {maps: {id: "{start_fails.output.data.child}"}}}
        risky_fails: {type: worker, topic: family.fails}
      transitions: {start_fails: [{to: call_fails}, {to: risky_fails}]}
    - subscribes: family.ends
      activities:
        start_ends: {type: trigger}
        spawn_ends: {type: await, topic: family.victim, await: false, input: {maps: {id: victim, child: "{start_ends.output.data.child}"}}}
        nap_ends: {type: hook, sleep: 1}
        stop_ends: {type: interrupt, target: victim, topic: family.victim, reason: enough, code: 418, descend: true}
        next_ends: {type: worker, topic: family.next, input: {maps: {n: 1}}}
      transitions: {start_ends: [{to: spawn_ends}], spawn_ends: [{to: nap_ends}], nap_ends: [{to: stop_ends}], stop_ends: [{to: next_ends}]}
    - subscribes: family.victim
      activities:
        victim_victim: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        call_victim: {type: await, topic: family.stuck, input: {maps: {id: "{victim_victim.output.data.child}"}}}
      transitions: {victim_victim: [{to: call_victim}]}
    - subscribes: family.child
      activities:
        child_child: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        work_child: {type: worker, topic: family.work, input: {maps: {n: "{child_child.output.data.n}"}}, job: {maps: {n: "{$self.output.data.n}"}}}
      transitions: {child_child: [{to: work_child}]}
    - subscribes: family.broken
      activities:
        child_broken: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        work_broken: {type: worker, topic: family.breaks}
      transitions: {child_broken: [{to: work_broken}]}
    - subscribes: family.talks
      activities:
        child_talks: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        one_talks: {type: hook, emit: true, job: {maps: {n: 1}}}
        work_talks: {type: worker, topic: family.work, input: {maps: {n: 2}}, job: {maps: {n: "{$self.output.data.n}"}}}
      transitions: {child_talks: [{to: one_talks}], one_talks: [{to: work_talks}]}
    - subscribes: family.stuck
      activities:
        child_stuck: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        wait_stuck: {type: hook}
      transitions: {child_stuck: [{to: wait_stuck}]}
      hooks: {never: [{to: wait_stuck, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.id}"}]}}]}
)";

// Hooks that wait by the job's id, and jobs that signal to them.
constexpr const char* post = R"(
app:
  id: post
  version: 1
  graphs:
    - subscribes: post.waits
      activities:
        start_waits: {type: trigger}
        wait_waits: {type: hook, job: {maps: {heard: "{$self.hook.data.word}"}}}
        next_waits: {type: worker, topic: post.next, input: {maps: {word: "{wait_waits.hook.data.word}"}}}
      transitions: {start_waits: [{to: wait_waits}], wait_waits: [{to: next_waits}]}
      hooks: {told: [{to: wait_waits, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
    - subscribes: post.waits_a_while
      activities:
        start_waits_a_while: {type: trigger}
        wait_waits_a_while: {type: hook, timeout: 1, job: {maps: {heard: "{$self.hook.data.word}"}}}
        late_waits_a_while: {type: hook, job: {maps: {late: true}}}
      transitions: {start_waits_a_while: [{to: wait_waits_a_while}], wait_waits_a_while: [{to: late_waits_a_while, conditions: {code: 596}}]}
      hooks: {told: [{to: wait_waits_a_while, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
    - subscribes: post.waits_again
      activities:
        start_waits_again: {type: trigger}
        one_waits_again: {type: hook, timeout: 1, job: {maps: {heard: "{$self.hook.data.word}"}}}
        two_waits_again: {type: hook, job: {maps: {heard: "{$self.hook.data.word}"}}}
      transitions: {start_waits_again: [{to: one_waits_again}], one_waits_again: [{to: two_waits_again, conditions: {code: 596}}]}
      hooks:
        told:
          - {to: one_waits_again, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}
          - {to: two_waits_again, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}
    - subscribes: post.naps
      activities:
        start_naps: {type: trigger}
        wait_naps: {type: hook, sleep: 1}
        next_naps: {type: worker, topic: post.next, input: {maps: {word: awake}}, job: {maps: {word: "{$self.output.data.word}"}}}
      transitions: {start_naps: [{to: wait_naps}], wait_naps: [{to: next_naps}]}
      hooks: {told: [{to: wait_naps, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
    - subscribes: post.asks_and_tells
      activities:
        start_asks_and_tells: {type: trigger}
        tell_asks_and_tells: {type: signal, topic: told, signal: {maps: {to: "{start_asks_and_tells.output.data.to}", word: hello}}}
      transitions: {start_asks_and_tells: [{to: tell_asks_and_tells}]}
    - subscribes: post.tells_in_parts
      activities:
        start_tells_in_parts: {type: trigger}
        one_tells_in_parts: {type: signal, topic: told, signal: {maps: {to: "{start_tells_in_parts.output.data.to}", word: a}}, status: pending, code: 202}
        two_tells_in_parts: {type: signal, topic: told, signal: {maps: {to: "{start_tells_in_parts.output.data.to}", word: b}}, status: pending, code: 202}
        three_tells_in_parts: {type: signal, topic: told, signal: {maps: {to: "{start_tells_in_parts.output.data.to}", word: c}}}
      transitions: {start_tells_in_parts: [{to: one_tells_in_parts}], one_tells_in_parts: [{to: two_tells_in_parts}], two_tells_in_parts: [{to: three_tells_in_parts}]}
)";

// One signal that two hooks of one topic match by different parts.
constexpr const char* rooms = R"(
app:
  id: rooms
  version: 1
  graphs:
    - subscribes: rooms.by_name
      activities: {start_by_name: {type: trigger}, wait_by_name: {type: hook, job: {maps: {word: "{$self.hook.data.word}"}}}}
      transitions: {start_by_name: [{to: wait_by_name}]}
      hooks: {said: [{to: wait_by_name, conditions: {match: [{expected: "{start_by_name.output.data.name}", actual: "{$hook.data.name}"}]}}]}
    - subscribes: rooms.by_room
      activities: {start_by_room: {type: trigger}, wait_by_room: {type: hook, job: {maps: {word: "{$self.hook.data.word}"}}}}
      transitions: {start_by_room: [{to: wait_by_room}]}
      hooks: {said: [{to: wait_by_room, conditions: {match: [{expected: "{start_by_room.output.data.room}", actual: "{$hook.data.room}"}]}}]}
    - subscribes: rooms.speaks
      activities:
        start_speaks: {type: trigger}
        left_speaks: {type: signal, topic: said, signal: {maps: {name: ada, room: 7, word: hello}}}
        right_speaks: {type: signal, topic: said, signal: {maps: {name: bob, room: 8, word: bye}}}
      transitions: {start_speaks: [{to: left_speaks}, {to: right_speaks}]}
)";

// A signal to all jobs with a label, sent in pages of two. A job that gets it twice shows it: its second hook gets the
// second signal.
constexpr const char* crowd = R"(
app:
  id: crowd
  version: 1
  graphs:
    - subscribes: crowd.member
      publishes: crowd.left
      activities:
        start_member: {type: trigger, stats: {key: crowd, measures: [{measure: count}, {measure: index, target: "{$self.input.data.side}"}]}}
        wait_member: {type: hook, job: {maps: {heard: "{$self.hook.data.word}"}}}
        again_member: {type: hook, sleep: 5}
        twice_member: {type: hook, job: {maps: {twice: true}}}
      transitions:
        start_member: [{to: wait_member}]
        wait_member: [{to: again_member}]
        again_member: [{to: twice_member, conditions: {match: [{expected: hello, actual: "{again_member.hook.data.word}"}]}}]
      hooks:
        called:
          - {to: wait_member, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.id}"}]}}
          - {to: again_member, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.id}"}]}}
    - subscribes: crowd.caller
      publishes: crowd.called
      activities:
        start_caller: {type: trigger}
        tell_caller: {type: signal, subtype: all, topic: called, key_name: side, key_value: left, scrub: true, signal: {maps: {word: hello}}, job: {maps: {told: "{$self.output.data.signalled}"}}}
      transitions: {start_caller: [{to: tell_caller}]}
)";

constexpr const char* shapes = R"(
app:
  id: shapes
  version: 1
  graphs:
    - subscribes: shapes.cycle
      activities:
        start_cycle: {type: trigger, job: {maps: {n: 0}}}
        again_cycle: {type: hook}
        count_cycle: {type: worker, topic: shapes.count, input: {maps: {n: {"@pipe": [["{$job.data.n}", 1], ["{@math.add}"]]}}}, job: {maps: {n: "{$self.output.data.n}"}}}
        back_cycle: {type: cycle, ancestor: again_cycle}
      transitions:
        start_cycle: [{to: again_cycle}]
        again_cycle: [{to: count_cycle}]
        count_cycle: [{to: back_cycle, conditions: {match: [{expected: true, actual: {"@pipe": [["{$job.data.n}", 3], ["{@number.lt}"]]}}]}}]
    - subscribes: shapes.spin
      activities:
        start_spin: {type: trigger}
        again_spin: {type: hook}
        step_spin: {type: hook}
        back_spin: {type: cycle, ancestor: again_spin}
      transitions: {start_spin: [{to: again_spin}], again_spin: [{to: step_spin}], step_spin: [{to: back_spin}]}
    - subscribes: shapes.join
      activities:
        start_join: {type: trigger}
        a_join: {type: worker, topic: shapes.a, input: {maps: {n: 1}}}
        b_join: {type: worker, topic: shapes.b, input: {maps: {n: 2}}}
        c_join: {type: hook}
        all_join: {type: join}
        next_join: {type: worker, topic: shapes.next, input: {maps: {n: "{a_join.output.data.n}"}}, job: {maps: {n: "{$self.output.data.n}"}}}
      transitions:
        start_join: [{to: a_join}, {to: b_join}]
        a_join: [{to: all_join}]
        b_join: [{to: all_join}, {to: c_join, conditions: {match: [{expected: 5, actual: "{b_join.output.data.n}"}]}}]
        c_join: [{to: all_join}]
        all_join: [{to: next_join}]
    - subscribes: shapes.map
      activities:
        start_map: {type: trigger}
        each_map: {type: map, items: "{start_map.output.data.list}", parallel: 2, collect: "{work_map.output.data.r}", join: done_map}
        work_map: {type: worker, topic: shapes.work, input: {maps: {r: "{each_map.output.data.item}"}}}
        done_map: {type: join, job: {maps: {results: "{$self.output.data.items}"}}}
      transitions: {start_map: [{to: each_map}], each_map: [{to: work_map}], work_map: [{to: done_map}]}
)";

// What ends before its end: branches that lost a race, and what a failed job did.
constexpr const char* endings = R"(
app:
  id: endings
  version: 1
  graphs:
    - subscribes: endings.race
      activities:
        start_race: {type: trigger}
        fast_race: {type: worker, topic: endings.fast, input: {maps: {n: 1}}, job: {maps: {n: "{$self.output.data.n}"}}}
        slow_race: {type: worker, topic: endings.never}
        nap_race: {type: hook, sleep: 3600}
        wait_race: {type: hook, job: {maps: {heard: true}}}
        child_race: {type: await, topic: endings.sleeper, input: {maps: {id: "c-1"}}}
        first_race: {type: join, need: any, others: cancel}
        next_race: {type: worker, topic: endings.next, input: {maps: {n: 2}}}
      transitions:
        start_race: [{to: slow_race}, {to: nap_race}, {to: wait_race}, {to: child_race}, {to: fast_race}]
        fast_race: [{to: first_race}]
        slow_race: [{to: first_race}]
        nap_race: [{to: first_race}]
        wait_race: [{to: first_race}]
        child_race: [{to: first_race}]
        first_race: [{to: next_race}]
      hooks: {said_race: [{to: wait_race, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
    - subscribes: endings.sleeper
      activities: {start_sleeper: {type: trigger, stats: {id: "{$self.input.data.id}"}}, nap_sleeper: {type: hook, sleep: 3600}}
      transitions: {start_sleeper: [{to: nap_sleeper}]}
    - subscribes: endings.dead_heat
      activities:
        start_heat: {type: trigger}
        a_heat: {type: worker, topic: endings.fast, input: {maps: {n: 1}}}
        b_heat: {type: worker, topic: endings.fast, input: {maps: {n: 2}}}
        c_heat: {type: hook}
        first_heat: {type: join, need: any, others: cancel}
        next_heat: {type: worker, topic: endings.next, input: {maps: {n: 3}}, job: {maps: {n: "{$self.output.data.n}"}}}
      transitions:
        start_heat: [{to: a_heat}, {to: b_heat}]
        a_heat: [{to: first_heat}]
        b_heat: [{to: c_heat}]
        c_heat: [{to: first_heat}]
        first_heat: [{to: next_heat}]
    - subscribes: endings.undo
      activities:
        start_undo: {type: trigger}
        a_undo: {type: worker, topic: endings.fast, input: {maps: {n: 1}}, compensate: no_a_undo}
        b_undo: {type: worker, topic: endings.fast, input: {maps: {n: 2}}, compensate: no_b_undo}
        side_undo: {type: worker, topic: endings.never}
        nap_undo: {type: hook, sleep: 3600}
        bad_undo: {type: worker, topic: endings.breaks}
        no_a_undo: {type: worker, topic: endings.next, input: {maps: {n: "{a_undo.output.data.n}"}}, job: {maps: {a: "{$self.output.data.n}", b: "{$job.data.b}"}}}
        no_b_undo: {type: worker, topic: endings.twice, retry: {maximumAttempts: 3, initialInterval: 1s}, job: {maps: {b: done}}}
      transitions:
        start_undo: [{to: a_undo}, {to: side_undo}, {to: nap_undo}]
        a_undo: [{to: b_undo}]
        b_undo: [{to: bad_undo}]
)";

void deploy_app(runtime::GraphCatalog& catalog, const char* text) {
  const graph::Checked checked = graph::check_text(text);
  if (checked.app == nullptr) std::fputs(graph::report_text(checked, graph::Colours::off).c_str(), stderr);
  invariant(checked.app != nullptr, "a scenario's app is valid");
  auto graphs = execute::assemble(checked.app, text);
  invariant(graphs.ok(), "a scenario's app can be run");
  for (Graph& graph : *graphs) invariant(catalog.add(std::move(graph)).ok(), "a scenario's graph is new");
}

WantedJob job_of(std::string id, std::string graph, std::string input = "{}", Duration at = {}) {
  WantedJob wanted = job(std::move(id), std::move(graph));
  wanted.input = std::move(input);
  wanted.at = at;
  return wanted;
}
Ask signal(std::string topic, std::string data, Duration at) {
  Ask asked;
  asked.kind = Kind::signal;
  asked.of = std::move(topic);
  asked.data = std::move(data);
  asked.at = at;
  return asked;
}
JobEnd done(std::string id, std::string data, std::map<std::string, std::uint32_t> instances = {}) {
  return {std::move(id), JobStatus::completed, {std::move(data)}, std::move(instances)};
}
JobEnd over(std::string id, JobStatus status) { return {std::move(id), status}; }

}  // namespace

void deploy_apps(runtime::GraphCatalog& catalog) {
  for (const char* text : {family, post, rooms, crowd, shapes, endings}) deploy_app(catalog, text);
}

void add_graph_behaviours(std::map<std::string, Behaviour>& all) {
  for (const char* topic : {"family.next", "family.work", "post.next", "shapes.count", "shapes.a", "shapes.b",
                            "shapes.next", "shapes.work"})
    all[topic] = {.echoes = true};
  for (const char* topic : {"endings.fast", "endings.next"}) all[topic] = {.echoes = true};
  all["endings.never"] = {.silent_runs = 1000};
  all["endings.twice"] = {.fails_first = 1};
  all["endings.breaks"] = {.status = core::ReplyStatus::error, .code = 451, .takes = 50ms};
  all["family.breaks"] = {.status = core::ReplyStatus::error, .code = 451};
  all["family.fails"] = {.status = core::ReplyStatus::error, .code = 500, .takes = 200ms};
}

void add_graph_scenarios(const Scenario& base, std::vector<Scenario>& all) {
  const auto add = [&](std::string name, std::vector<WantedJob> jobs, std::vector<JobEnd> ends, std::uint64_t runs,
                       std::vector<Ask> asks = {}) -> Scenario& {
    Scenario scenario = base;
    scenario.name = std::move(name);
    scenario.jobs = std::move(jobs);
    scenario.asks = std::move(asks);
    scenario.ends = std::move(ends);
    scenario.runs = runs;
    all.push_back(std::move(scenario));
    return all.back();
  };
  const std::string child = R"({"child":"c-1"})";

  add("await_success", {job_of("p", "family/family.good", child)},
      {done("p", R"({"got":3})", {{"call_good", 1}, {"next_good", 1}}), done("c-1", R"({"n":3})", {{"work_child", 1}})},
      2);
  add("await_error", {job_of("p", "family/family.bad", child)},
      {done("p", R"({"caught":true})", {{"caught_bad", 1}}), over("c-1", JobStatus::failed)}, 1);
  add("await_id_taken", {job_of("p", "family/family.taken", child)},
      {done("p", R"({"taken":true})", {{"one_taken", 1}, {"two_taken", 1}}), done("c-1", R"({"n":1})")}, 1);
  add("await_not", {job_of("p", "family/family.forget", child)},
      {done("p", R"({"n":9})", {{"next_forget", 1}}), done("c-1", R"({"n":4})")}, 2);
  add("await_hears", {job_of("p", "family/family.hears", child)},
      {done("p", "{}", {{"call_hears", 1}, {"next_hears", 2}}), done("c-1", R"({"n":2})")}, 3);
  add("await_timeout", {job_of("p", "family/family.late", child)},
      {done("p", R"({"late":true})", {{"late_late", 1}}), over("c-1", JobStatus::interrupted)}, 0);
  add("await_parent_fails", {job_of("p", "family/family.fails", child)},
      {over("p", JobStatus::failed), over("c-1", JobStatus::interrupted)}, 1);
  add("interrupt_descends", {job_of("p", "family/family.ends", child)},
      {done("p", "{}", {{"stop_ends", 1}, {"next_ends", 1}}), over("victim", JobStatus::interrupted),
       over("c-1", JobStatus::interrupted)},
      1)
      .ends.back()
      .may_be_missing = true;

  const std::string to = R"({"to":"w"})";
  const std::string word = R"({"to":"w","word":"hello"})";
  add("hook_then_signal", {job_of("w", "post/post.waits")}, {done("w", R"({"heard":"hello"})", {{"next_waits", 1}})}, 1,
      {signal("told", word, 100ms)});
  add("signal_then_hook", {job_of("w", "post/post.waits", "{}", 100ms)},
      {done("w", R"({"heard":"hello"})", {{"next_waits", 1}})}, 1, {signal("told", word, 0ms)});
  Scenario& race = add("signal_against_timeout", {job_of("w", "post/post.waits_a_while")},
                       {done("w", R"({"late":true})")}, 0, {signal("told", word, 1003ms)});
  race.ends.back().data.push_back(R"({"heard":"hello"})");
  race.race = true;
  Scenario& late = add("signal_too_late", {job_of("w", "post/post.waits_a_while")}, {done("w", R"({"late":true})")}, 0,
                       {signal("told", word, 3s)});
  late.ends.back().data.push_back(R"({"heard":"hello"})");
  late.race = true;
  // The signal goes to one of the two hooks and is not lost between them.
  add("signal_before_a_slow_hook", {job_of("w", "post/post.waits_again", "{}", 100ms)},
      {done("w", R"({"heard":"hello"})")}, 0, {signal("told", word, 0ms)})
      .race = true;
  add("signal_between_two_hooks", {job_of("w", "post/post.waits_again")}, {done("w", R"({"heard":"hello"})")}, 0,
      {signal("told", word, 1003ms)})
      .race = true;
  add("pending_signals_between_two_hooks",
      {job_of("w", "post/post.waits_again"), job_of("s", "post/post.tells_in_parts", to, 995ms)},
      {done("w", R"({"heard":"c"})"), done("s", "{}")}, 0)
      .race = true;
  Ask ended;
  ended.of = "w";
  ended.at = 102ms;
  Scenario& cut_off = add("signal_against_interrupt", {job_of("w", "post/post.waits")},
                          {done("w", R"({"heard":"hello"})")}, 0, {signal("told", word, 100ms), ended});
  cut_off.ends.back().or_else = JobStatus::interrupted;
  cut_off.race = true;
  add("signal_wakes_sleeper", {job_of("w", "post/post.naps")}, {done("w", R"({"word":"awake"})", {{"next_naps", 1}})},
      1, {signal("told", word, 500ms)});
  add("sleep", {job_of("w", "post/post.naps")}, {done("w", R"({"word":"awake"})", {{"next_naps", 1}})}, 1);
  add("signal_of_a_job", {job_of("w", "post/post.waits"), job_of("s", "post/post.asks_and_tells", to)},
      {done("w", R"({"heard":"hello"})", {{"next_waits", 1}}), done("s", "{}")}, 1);
  add("pending_signals", {job_of("w", "post/post.waits"), job_of("s", "post/post.tells_in_parts", to)},
      {done("w", R"({"heard":"c"})", {{"wait_waits", 1}, {"next_waits", 3}}), done("s", "{}")}, 3);
  add("signals_fan_out",
      {job_of("a", "rooms/rooms.by_name", R"({"name":"ada"})"), job_of("b", "rooms/rooms.by_room", R"({"room":7})"),
       job_of("c", "rooms/rooms.by_room", R"({"room":8})"), job_of("s", "rooms/rooms.speaks")},
      {done("a", R"({"word":"hello"})"), done("b", R"({"word":"hello"})"), done("c", R"({"word":"bye"})"),
       done("s", "{}")},
      0);

  const std::string left = R"({"side":"left"})";
  add("signal_to_all",
      {job_of("a", "crowd/crowd.member", left), job_of("b", "crowd/crowd.member", left),
       job_of("c", "crowd/crowd.member", left), job_of("s", "crowd/crowd.caller", "{}", 40s)},
      {done("a", R"({"heard":"hello"})"), done("b", R"({"heard":"hello"})"), done("c", R"({"heard":"hello"})"),
       done("s", R"({"told":3})")},
      0);

  add("cycle_of_three", {job_of("j", "shapes/shapes.cycle")},
      {done("j", R"({"n":3})", {{"again_cycle", 1}, {"count_cycle", 3}, {"back_cycle", 2}})}, 3);
  // The first never waits; it is ended from outside, and the other continues meanwhile.
  Ask enough;
  enough.of = "spin";
  enough.at = 30ms;
  Scenario& spins =
      add("never_pauses", {job_of("spin", "shapes/shapes.spin"), job_of("j", "shapes/shapes.cycle", "{}", 15ms)},
          {over("spin", JobStatus::interrupted), done("j", R"({"n":3})", {{"count_cycle", 3}})}, 3, {enough});
  spins.starts_within = 8;
  spins.endless = true;
  add("join_with_a_skip", {job_of("j", "shapes/shapes.join")},
      {done("j", R"({"n":1})", {{"all_join", 1}, {"c_join", 0}, {"next_join", 1}})}, 3);
  add("map_of_five", {job_of("j", "shapes/shapes.map", R"({"list":[5,4,3,2,1]})")},
      {done("j", R"({"results":[5,4,3,2,1]})", {{"work_map", 5}, {"done_map", 6}})}, 5);

  add("race", {job_of("j", "endings/endings.race")},
      {done("j", R"({"n":1})", {{"first_race", 1}, {"next_race", 1}, {"slow_race", 1}}),
       over("c-1", JobStatus::interrupted)},
      3)
      .ends.back()
      .may_be_missing = true;
  Scenario& signalled =
      add("race_against_a_signal", {job_of("j", "endings/endings.race")},
          {done("j", R"({"n":1})", {{"first_race", 1}, {"next_race", 1}}), over("c-1", JobStatus::interrupted)}, 0,
          {signal("said_race", R"({"to":"j"})", 3ms)});
  signalled.ends.front().data.push_back(R"({"heard":true})");
  signalled.ends.front().data.push_back(R"({"n":1,"heard":true})");
  signalled.ends.front().data.push_back(R"({"heard":true,"n":1})");
  signalled.ends.back().may_be_missing = true;
  signalled.race = true;
  add("race_that_two_win", {job_of("j", "endings/endings.dead_heat")},
      {done("j", R"({"n":3})", {{"first_heat", 1}, {"next_heat", 1}})}, 0)
      .race = true;
  JobEnd undone = over("j", JobStatus::failed);
  undone.data = {R"({"b":"done","a":1})"};  // the newest first
  undone.instances = {{"no_a_undo", 1}, {"no_b_undo", 1}};
  add("undo", {job_of("j", "endings/endings.undo")}, {undone}, 0).race = true;
  Ask paused, resumed;
  paused.kind = Kind::pause, resumed.kind = Kind::resume;
  paused.of = resumed.of = "j";
  paused.at = 52ms, resumed.at = 400ms;  // about when the job fails
  add("undo_paused", {job_of("j", "endings/endings.undo")}, {undone}, 0, {paused, resumed}).race = true;
  // A worker that never replies keeps its slot.
  for (Scenario& scenario : all)
    if (scenario.name == "race" || scenario.name == "race_against_a_signal" || scenario.name == "undo" ||
        scenario.name == "undo_paused")
      scenario.slots_min = 2;
}

}  // namespace pawl::sim
