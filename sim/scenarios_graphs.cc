// Jobs of the graph language: what they start, await, signal and end in other lanes.
#include <chrono>

#include "sim/scenario_builder.h"

namespace pawl::sim {

namespace {

using namespace std::chrono_literals;
using core::JobStatus;
using Kind = Ask::Kind;

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

void add_graph_behaviours(std::map<std::string, Behaviour>& all) {
  for (const char* topic : {"family.next", "family.work", "post.next", "shapes.count", "shapes.a", "shapes.b",
                            "shapes.next", "shapes.work"})
    all[topic] = {.echoes = true};
  for (const char* topic : {"endings.fast", "endings.next"}) all[topic] = {.echoes = true};
  for (const char* topic : {"mending.once", "mending.each"}) all[topic] = {.echoes = true};
  all["mending.breaks"] = {.echoes = true, .broken_at_first = true};
  all["endings.never"] = {.silent_runs = 1000, .hangs = true};
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
  // A person answers in the place of a signal, alone and against one.
  const std::string by_signal = R"({"to":"w","word":"signalled"})";
  Ask given;
  given.kind = Kind::answer;
  given.of = "w";
  given.data = word;
  given.at = 100ms;
  add("hook_is_answered", {job_of("w", "post/post.waits")}, {done("w", R"({"heard":"hello"})", {{"next_waits", 1}})}, 1,
      {given});
  Scenario& against =
      add("answer_against_signal", {job_of("w", "post/post.waits")},
          {done("w", R"({"heard":"hello"})", {{"next_waits", 1}})}, 1, {signal("told", by_signal, 100ms), given});
  against.ends.back().data.push_back(R"({"heard":"signalled"})");
  against.race = true;
  Ask in_time = given;
  in_time.at = 1003ms;
  Scenario& too_late = add("answer_against_timeout", {job_of("w", "post/post.waits_a_while")},
                           {done("w", R"({"late":true})")}, 0, {in_time});
  too_late.ends.back().data.push_back(R"({"heard":"hello"})");
  too_late.race = true;
  // Accepted while the job is paused. When it goes on, the hook's time is over, and the answer counts; unless a fault
  // makes the pause come after that time.
  Ask pause = given, resume = given;
  pause.kind = Kind::pause, resume.kind = Kind::resume;
  in_time.at = 150ms, resume.at = 1500ms;
  Scenario& stopped = add("answered_while_paused", {job_of("w", "post/post.waits_a_while")},
                          {done("w", R"({"heard":"hello"})")}, 0, {pause, in_time, resume});
  stopped.ends.back().data.push_back(R"({"late":true})");
  stopped.race = true;
  // A person drops it, before the hook is there or too late.
  const std::string wrong = R"({"to":"w","word":"wrong"})";
  for (const Duration at : {Duration(20ms), Duration(100ms)}) {
    Ask drop = signal("told", wrong, at);
    drop.kind = Kind::drop_signal;
    Scenario& dropped = add(at == Duration(20ms) ? "signal_dropped" : "signal_dropped_against_its_hook",
                            {job_of("w", "post/post.waits", "{}", 100ms)}, {done("w", R"({"heard":"hello"})")}, 0,
                            {signal("told", wrong, 0ms), drop, signal("told", word, 300ms)});
    dropped.ends.back().data.push_back(R"({"heard":"wrong"})");
    dropped.race = true;
  }
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
  // Cancelled at any moment: what was done until then is undone, and nothing else.
  JobEnd cancelled = over("j", JobStatus::interrupted);
  cancelled.undone = true;
  Ask cancel;
  cancel.kind = Kind::cancel, cancel.of = "j", cancel.at = 60ms;
  add("cancelled", {job_of("j", "endings/endings.called_off")}, {cancelled}, 0, {cancel}).race = true;
  Ask first = paused;
  first.at = 40ms;
  add("cancelled_paused", {job_of("j", "endings/endings.called_off")}, {cancelled}, 0, {first, cancel, resumed}).race =
      true;

  Ask go_on, answered;
  go_on.kind = Kind::go_on, answered.kind = Kind::answer;
  go_on.of = answered.of = "j";
  answered.data = R"({"text":"5"})";
  add("failed_goes_on", {job_of("j", "mending/mending.fails")},
      {done("j", R"({"word":"go","items":[1,2,3],"n":1,"m":7})",
            {{"wait_fails", 1}, {"once_fails", 1}, {"child_fails", 1}, {"work_fails", 3}, {"break_fails", 1}}),
       done("c-1", R"({"m":7})")},
      8, {signal("told_mending", R"({"to":"j","word":"go"})", 20ms), go_on});
  add("refused_is_answered", {job_of("j", "mending/mending.refuses")},
      {done("j", R"({"n":5})", {{"bad_refuses", 1}, {"next_refuses", 1}})}, 2, {answered});
  // A worker that never replies keeps its slot.
  for (Scenario& scenario : all)
    if (scenario.name == "race" || scenario.name == "race_against_a_signal" || scenario.name == "undo" ||
        scenario.name == "undo_paused")
      scenario.slots_min = 2;
}

}  // namespace pawl::sim
