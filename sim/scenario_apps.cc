// The apps of the scenarios of the graph language.
#include <cstdio>

#include "execute/assemble.h"
#include "graph/check.h"
#include "graph/report.h"
#include "sim/scenario_builder.h"

namespace pawl::sim {

namespace {

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
    - subscribes: endings.called_off
      activities:
        start_off: {type: trigger}
        a_off: {type: worker, topic: endings.fast, input: {maps: {n: 1}}, compensate: no_a_off}
        b_off: {type: worker, topic: endings.fast, input: {maps: {n: 2}}, compensate: no_b_off}
        nap_off: {type: hook, sleep: 3600}
        no_a_off: {type: worker, topic: endings.next, input: {maps: {n: "{a_off.output.data.n}"}}}
        no_b_off: {type: worker, topic: endings.twice, retry: {maximumAttempts: 3, initialInterval: 1s}}
      transitions:
        start_off: [{to: a_off}]
        a_off: [{to: b_off}]
        b_off: [{to: nap_off}]
)";

// Jobs that do not go on by themselves: one fails, the other refuses the answer of its worker.
constexpr const char* mending = R"(
app:
  id: mending
  version: 1
  graphs:
    - subscribes: mending.fails
      activities:
        start_fails: {type: trigger}
        wait_fails: {type: hook, job: {maps: {word: "{$self.hook.data.word}"}}}
        once_fails: {type: worker, topic: mending.once, input: {maps: {n: 1}}}
        child_fails: {type: await, topic: mending.child, input: {maps: {id: "c-1"}}}
        each_fails: {type: map, items: [1, 2, 3], parallel: 2, collect: "{work_fails.output.data.r}", join: done_fails}
        work_fails: {type: worker, topic: mending.each, input: {maps: {r: "{each_fails.output.data.item}"}}}
        done_fails: {type: join, job: {maps: {items: "{$self.output.data.items}"}}}
        break_fails: {type: worker, topic: mending.breaks, input: {maps: {n: "{once_fails.output.data.n}", m: "{child_fails.output.data.m}"}}, job: {maps: {n: "{$self.output.data.n}", m: "{$self.output.data.m}"}}}
        next_fails: {type: worker, topic: mending.once, input: {maps: {n: 2}}}
      transitions:
        start_fails: [{to: wait_fails}]
        wait_fails: [{to: once_fails}]
        once_fails: [{to: child_fails}]
        child_fails: [{to: each_fails}]
        each_fails: [{to: work_fails}]
        work_fails: [{to: done_fails}]
        done_fails: [{to: break_fails}]
        break_fails: [{to: next_fails}]
      hooks: {told_mending: [{to: wait_fails, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.to}"}]}}]}
    - subscribes: mending.child
      activities:
        start_mchild: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        work_mchild: {type: worker, topic: mending.once, input: {maps: {m: 7}}, job: {maps: {m: "{$self.output.data.m}"}}}
      transitions: {start_mchild: [{to: work_mchild}]}
    - subscribes: mending.refuses
      activities:
        start_refuses: {type: trigger}
        bad_refuses: {type: worker, topic: mending.once, input: {maps: {text: "no JSON"}}, job: {maps: {n: {"@pipe": [["{$self.output.data.text}"], ["{@json.parse}"]]}}}}
        next_refuses: {type: worker, topic: mending.once, input: {maps: {n: "{$job.data.n}"}}}
      transitions: {start_refuses: [{to: bad_refuses}], bad_refuses: [{to: next_refuses}]}
)";

void deploy_app(runtime::GraphCatalog& catalog, const char* text) {
  const graph::Checked checked = graph::check_text(text);
  if (checked.app == nullptr) std::fputs(graph::report_text(checked, graph::Colours::off).c_str(), stderr);
  invariant(checked.app != nullptr, "a scenario's app is valid");
  auto graphs = execute::assemble(checked.app, text);
  invariant(graphs.ok(), "a scenario's app can be run");
  for (Graph& graph : *graphs) invariant(catalog.add(std::move(graph)).ok(), "a scenario's graph is new");
}

}  // namespace

void deploy_apps(runtime::GraphCatalog& catalog) {
  for (const char* text : {family, post, rooms, crowd, shapes, endings, mending}) deploy_app(catalog, text);
}

}  // namespace pawl::sim
