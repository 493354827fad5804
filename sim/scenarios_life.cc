// Attempts, times, unknown effects, and requests on a job.
#include <chrono>

#include "sim/scenario_builder.h"

namespace pawl::sim {

namespace {

using namespace std::chrono_literals;
using core::ReplyStatus;
using Finding = Behaviour::Finding;
using Kind = Ask::Kind;

Retry tries(std::uint32_t count) {
  return Retry().attempts(count).first_delay(20ms).longest_delay(100ms).when_exhausted(WhenExhausted::park);
}
// An attempt may time out because of the world's delays: such attempts never run out.
Retry tries_enough() { return tries(1000); }

WantedJob delayed(WantedJob wanted, Duration by) { return wanted.delay = by, wanted; }
WantedJob ended_within(WantedJob wanted, Duration time) { return wanted.end_within = time, wanted; }
WantedJob kept(WantedJob wanted, Duration time) { return wanted.keep = time, wanted; }
WantedJob prior(WantedJob wanted, std::int32_t priority, Duration at) {
  wanted.priority = priority;
  wanted.at = at;
  return wanted;
}
WantedJob again(WantedJob wanted, store::Reuse reuse, Duration at) {
  wanted.tag = "again";
  wanted.reuse = reuse;
  wanted.at = at;
  return wanted;
}
Ask ask(Kind kind, std::string of, Duration at = {}) {
  Ask asked;
  asked.kind = kind;
  asked.of = std::move(of);
  asked.at = at;
  return asked;
}

}  // namespace

void deploy_life(runtime::GraphCatalog& catalog) {
  Builder("flaky").worker("a", "t").retry(tries(4)).worker("b", "a").deploy(catalog);
  Builder("far_flaky").worker("a", "t").retry(tries(4)).worker("b", "a").deploy(catalog);
  Builder("exhausted").worker("a", "t").retry(tries(2)).worker("b", "a").deploy(catalog);
  Builder("given_up")
      .worker("a", "t")
      .retry(tries(2).when_exhausted(WhenExhausted::fail))
      .worker("b", "t")
      .deploy(catalog);
  Builder("mended")
      .worker("a", "t")
      .retry(tries(3))
      .worker("ok", "a")
      .worker("mend", "a", Condition::error())
      .deploy(catalog);
  Builder("never_on")
      .worker("a", "t")
      .retry(tries(5).never_on({402}))
      .worker("refund", "a", Condition::code(402))
      .deploy(catalog);
  Builder("fatal").worker("a", "t").retry(tries(5)).deploy(catalog);
  for (const char* name : {"slow", "far_slow"})
    Builder(name)
        .worker("a", "t")
        .retry(tries_enough())
        .timeouts(Timeouts().attempt(50ms))
        .worker("b", "a")
        .deploy(catalog);
  Builder("mute")
      .worker("a", "t")
      .timeouts(Timeouts().attempt(50ms))
      .worker("mend", "a", Condition::code(408))
      .deploy(catalog);
  Builder("timed").worker("a", "t").timeouts(Timeouts().attempt(50ms)).worker("b", "a").deploy(catalog);
  for (const char* name : {"beats", "far_beats"})
    Builder(name)
        .worker("a", "t")
        .retry(tries_enough())
        .timeouts(Timeouts().heartbeat(50ms))
        .worker("b", "a")
        .deploy(catalog);
  Builder("total")
      .worker("a", "t")
      .timeouts(Timeouts().total(80ms))
      .worker("mend", "a", Condition::error())
      .deploy(catalog);
  Builder("queued")
      .worker("a", "t")
      .timeouts(Timeouts().queue(80ms))
      .worker("mend", "a", Condition::error())
      .deploy(catalog);
  Builder("later").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("later_fails").worker("a", "t").retry(tries(3)).worker("b", "a").deploy(catalog);
  Builder("forgotten").worker("a", "t").worker("b", "a").deploy(catalog);
  const auto once = [&](const char* name, WhenUnknown then) {
    Builder(name)
        .worker("a", "t")
        .timeouts(Timeouts().attempt(50ms))
        .at_most_once(then)
        .worker("b", "a")
        .deploy(catalog);
  };
  once("once_done", WhenUnknown::hold);
  once("once_failed", WhenUnknown::hold);
  once("once_again", WhenUnknown::hold);
  once("once_retry", WhenUnknown::retry);
  once("once_probe", WhenUnknown::ask_probe);
  once("once_probe_again", WhenUnknown::ask_probe);
  once("once_no_idea", WhenUnknown::ask_probe);
  once("once_far", WhenUnknown::hold);
  Builder("once_calm").worker("a", "t").at_most_once(WhenUnknown::hold).worker("b", "a").deploy(catalog);
  Builder("stuck").worker("a", "t").worker("b", "t").deploy(catalog);
  Builder("steps").worker("a", "t").worker("b", "a").worker("c", "b").deploy(catalog);
  Builder("far_steps").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("far_returned").worker("a", "t").worker("b", "a").deploy(catalog);
  Builder("one").worker("a", "t").deploy(catalog);
}

void add_life_behaviours(std::map<std::string, Behaviour>& all) {
  all["flaky.a"] = {.pendings = 1, .fails_first = 3};
  all["far_flaky.a"] = {.remote = true, .fails_first = 3};
  all["exhausted.a"] = {.fails_first = 3};
  all["given_up.a"] = {.fails_first = for_ever};
  all["given_up.b"] = {.silent_runs = for_ever};
  all["mended.a"] = {.fails_first = for_ever};
  all["never_on.a"] = {.fails_first = for_ever, .failure_code = 402};
  all["fatal.a"] = {.fails_first = for_ever, .failure = ReplyStatus::fatal};
  all["slow.a"] = {.silent_tries = 2};
  all["far_slow.a"] = {.remote = true, .silent_tries = 2};
  all["mute.a"] = {.silent_runs = for_ever, .hangs = true};
  all["timed.a"] = {.takes = 30ms};
  all["beats.a"] = {.silent_tries = 1, .heartbeats = 2};
  all["far_beats.a"] = {.remote = true, .silent_tries = 1, .heartbeats = 2};
  all["total.a"] = {.silent_runs = for_ever};
  all["queued.a"] = {.unserved = true};
  all["later.a"] = {.later = true};
  all["later_fails.a"] = {.fails_first = 2, .later = true};
  all["forgotten.a"] = {.later = true, .forgotten = 1};
  all["once_done.a"] = {.silent_runs = 1};
  all["once_failed.a"] = {.silent_runs = for_ever, .finding = Finding::failed};
  all["once_again.a"] = {.silent_runs = 1, .finding = Finding::retry};
  all["once_retry.a"] = {.silent_runs = 1};
  all["once_probe.a"] = {.silent_runs = 1};
  all["once_probe_again.a"] = {.silent_runs = 1, .finding = Finding::retry};
  all["once_no_idea.a"] = {.silent_runs = 1, .probe_can_tell = false};
  all["once_far.a"] = {.remote = true, .silent_runs = 1, .finding = Finding::retry};
  all["stuck.a"] = {.silent_runs = for_ever};
  all["steps.a"] = {.heartbeats = 1, .takes = 10ms};
  all["far_steps.a"] = {.remote = true};
  all["far_steps.b"] = {.remote = true};
  all["far_returned.a"] = {.remote = true, .gives_back = 2};
  all["far_returned.b"] = {.pendings = 1, .remote = true, .gives_back = 1};
  all["one.a"] = {.takes = 10ms};
}

void add_life_scenarios(const Scenario& base, std::vector<Scenario>& all) {
  const auto add = [&](std::string name, std::vector<WantedJob> jobs, std::vector<Ask> asks = {}) -> Scenario& {
    Scenario scenario = base;
    scenario.name = std::move(name);
    scenario.jobs = std::move(jobs);
    scenario.asks = std::move(asks);
    scenario.life = true;
    all.push_back(std::move(scenario));
    return all.back();
  };
  const auto settled = [&](const char* graph) { add(graph, {job("j", graph)}, {ask(Kind::settle, "j")}); };

  add("tries_until_success", {job("j", "flaky")});
  add("far_tries_until_success", {job("j", "far_flaky")});
  add("tries_run_out", {job("j", "exhausted")});
  add("tries_run_out_redriven", {job("j", "exhausted")}, {ask(Kind::redrive, "j")});
  add("tries_run_out_given_up", {job("j", "given_up")}).slots_min = 2;
  add("tries_caught", {job("j", "mended")});
  add("never_on", {job("j", "never_on")}).small = true;
  add("fatal", {job("j", "fatal")}).small = true;
  add("attempt_timeout", {job("j", "slow")});
  add("far_attempt_timeout", {job("j", "far_slow")});
  add("attempt_timeout_caught", {job("j", "mute")}).small = true;
  // More jobs than threads: if an attempt's time began with its claim, an attempt that waited for its thread would have
  // too little time left.
  add("attempts_behind_a_queue", {job("j0", "timed"), job("j1", "timed"), job("j2", "timed"), job("j3", "timed"),
                                  job("j4", "timed"), job("j5", "timed")});
  add("hung_workers", {job("j0", "mute"), job("j1", "mute"), job("j2", "mute"), job("j3", "one")});
  add("heartbeat_timeout", {job("j", "beats")});
  add("far_heartbeat_timeout", {job("j", "far_beats")});
  add("total_timeout", {job("j", "total")});
  add("queue_timeout", {job("j", "queued")}).small = true;
  add("later", {job("j", "later")});
  add("later_fails", {job("j", "later_fails")});
  add("later_forgotten", {job("j", "forgotten")});
  settled("once_done");
  settled("once_failed");
  settled("once_again");
  settled("once_retry");
  settled("once_probe");
  settled("once_probe_again");
  settled("once_no_idea");
  settled("once_far");
  settled("once_calm");
  add("once_behind_a_queue",
      {job("j0", "once_calm"), job("j1", "once_calm"), job("j2", "once_calm"), job("j3", "once_calm")},
      {ask(Kind::settle, "j0"), ask(Kind::settle, "j1"), ask(Kind::settle, "j2"), ask(Kind::settle, "j3")});
  add("delayed_start", {delayed(job("j", "one"), 500ms)}).small = true;
  // The clock is set back while a job waits for its start, and jumps ahead past a distant start.
  Scenario& set_back = add("clock_set_back", {delayed(job("j", "one"), 500ms), job("k", "flaky")});
  set_back.clock_steps = {{10ms, -2h}, {100ms, -1h}, {200ms, 30min}};
  set_back.took_max = 2s;
  Scenario& leaps = add("clock_leaps_ahead", {delayed(job("j", "one"), 30min)});
  leaps.clock_steps = {{120s, 1h}};  // under any faults, it was accepted by then
  leaps.took_max = 122s;
  add("job_deadline", {ended_within(job("j", "stuck"), 300ms)}).small = true;
  // They come when the engine has its lanes: each takes its first step in the group of its submit, unless another one,
  // or a second client of the same id, makes the engine's expectation wrong.
  const auto soon = [](WantedJob wanted, Duration at) { return wanted.at = at, wanted; };
  add("starts_in_a_row", {soon(job("a", "one"), 100ms), soon(job("b", "one", 2), 100ms), soon(job("c", "one"), 101ms),
                          soon(job("d", "steps"), 102ms)});
  add("job_deadline_met", {ended_within(job("j", "one"), 24h)}).small = true;
  add("delayed_start_and_deadline", {ended_within(delayed(job("j", "stuck"), 200ms), 200ms)});
  add("pause_resume", {job("j", "steps")}, {ask(Kind::pause, "j", 8ms), ask(Kind::resume, "j", 100ms)});
  add("far_pause_resume", {job("j", "far_steps")}, {ask(Kind::pause, "j", 30ms), ask(Kind::resume, "j", 200ms)});
  add("far_steps", {job("j", "far_steps")}).small = true;
  add("far_given_back", {job("j", "far_returned")}).small = true;
  add("far_given_back_paused", {job("j", "far_returned")},
      {ask(Kind::pause, "j", 30ms), ask(Kind::resume, "j", 200ms)});
  add("pause_tries", {job("j", "flaky")}, {ask(Kind::pause, "j", 5ms), ask(Kind::resume, "j", 100ms)});
  add("interrupt", {job("j", "stuck")}, {ask(Kind::interrupt, "j", 30ms)}).small = true;
  add("interrupt_paused", {job("j", "stuck")}, {ask(Kind::pause, "j", 10ms), ask(Kind::interrupt, "j", 60ms)});
  add("interrupt_parked", {job("j", "exhausted")}, {ask(Kind::interrupt, "j", 300ms)});
  add("topic_paused", {job("j", "steps"), job("k", "far_steps")},
      {ask(Kind::pause_topic, "steps.b"), ask(Kind::pause_topic, "far_steps.b"),
       ask(Kind::resume_topic, "steps.b", 200ms), ask(Kind::resume_topic, "far_steps.b", 250ms)});
  add("replaced", {job("j", "stuck"), again(job("j", "one"), store::Reuse::replace, 40ms)});
  add("reused_after_close", {job("j", "one"), again(job("j", "chain"), store::Reuse::after_close, 300ms)});
  add("removed", {kept(job("j", "one"), 500ms), kept(ended_within(job("k", "stuck"), 200ms), 0ms)});
  add("removed_on_request", {job("j", "only")}, {ask(Kind::remove, "j", 100ms)});
  Scenario& ordered = add("priority", {prior(job("j0", "one"), 9, 0ms), prior(job("j1", "one"), 1, 1ms),
                                       prior(job("j3", "one"), 3, 2ms), prior(job("j2", "one"), 2, 3ms)});
  ordered.by_priority = true;
}

}  // namespace pawl::sim
