// World: what must be true at the end. Reads only the store's dump, the clients' log and the journal.
#include <algorithm>

#include "base/format.h"
#include "sim/world.h"

namespace pawl::sim {

bool World::is_calm() const {
  return report_.fired == 0 && report_.bells_lost == 0 && random_faults_ == 0 && report_.reads_failed == 0 &&
         report_.crashes == 0 && report_.stops == 0;
}

// The input distinguishes the jobs of one id.
const WantedJob* World::wanted_of(RunId run) const {
  const std::string input = watch_.input_of(run);
  const auto found = std::find_if(scenario_.jobs.begin(), scenario_.jobs.end(),
                                  [&](const WantedJob& wanted) { return input_of(wanted).view() == input; });
  return found == scenario_.jobs.end() ? nullptr : &*found;
}

void World::check_end() {
  const store::memory::Dump dump = memory_.dump();
  for (const auto& [wanted, run] : acknowledged_) {
    const auto found =
        std::find_if(dump.jobs.begin(), dump.jobs.end(), [run = run](const auto& job) { return job.job.run == run; });
    if (found == dump.jobs.end() && !watch_.was_removed(run))
      return verdict_.fail("client", format("{}/{} was acknowledged and is lost", wanted->name_space, wanted->id));
  }
  check_sends(dump);
  for (const store::memory::DumpedJob& job : dump.jobs) {
    if (scenario_.is_graphs()) {
      const JobEnd* end = scenario_.find_end(job.job.id.raw());
      if (end == nullptr) return verdict_.fail("invented", format("nobody wanted job {}", job.job.id.raw()));
      check_graph_job(job, *end);
      continue;
    }
    const WantedJob* wanted = wanted_of(job.job.run);
    if (wanted == nullptr || wanted->id != job.job.id.raw() || wanted->name_space != job.job.name_space.raw())
      return verdict_.fail("invented", format("nobody wanted job {}", job.job.id.raw()));
    check_job(job, *wanted);
  }
  check_slots();
  check_runs();
  check_effects(dump);
  if (scenario_.starts_within > 0 && is_calm() && watch_.figures().start_wait_max > scenario_.starts_within)
    verdict_.fail("progress", format("a job waited for {} bundles of others before its own first one",
                                     watch_.figures().start_wait_max));
  check_leftovers(dump);
}

// Without a fault every request has exactly its planned attempts, in the order of its job's priority.
void World::check_runs() {
  if (!is_calm()) return;
  std::uint64_t expected = 0;
  bool known = !scenario_.poisoned && options_.damaged.empty();
  // If an outside worker is slower than its lease, its work is handed out once more.
  for (const auto& [topic, behaviour] : scenario_.behaviours) {
    const Duration reply_max = behaviour.takes.count() != 0 ? behaviour.takes : options_.work_max;
    if (behaviour.remote && reply_max * (behaviour.pendings + 1) >= options_.lease) known = false;
  }
  if (scenario_.is_graphs()) {
    expected = scenario_.runs;
    known = !scenario_.race;
  }
  for (const WantedJob& wanted : scenario_.jobs) {
    const Expected& of_one = expected_.at(&wanted);
    expected += of_one.runs;
    known = known && of_one.runs_known;
  }
  if (known && journal_.begins() != expected)
    verdict_.fail("effects",
                  format("activities ran {} times without any fault, {} would do", journal_.begins(), expected));
  if (!scenario_.by_priority || nodes_.size() > 1) return;
  // The first one had the slot before the others came.
  for (std::size_t i = 2; i < journal_.order().size(); ++i) {
    const WantedJob* before = wanted_of(journal_.order()[i - 1]);
    const WantedJob* after = wanted_of(journal_.order()[i]);
    if (before != nullptr && after != nullptr && before->priority < after->priority)
      verdict_.fail("priority", format("{} began before {}", before->id, after->id));
  }
}

// No due time may be left for what is removed or has ended.
void World::check_leftovers(const store::memory::Dump& dump) {
  for (const store::memory::DumpedLane& lane : dump.lanes) {
    const auto due = memory_.read_due(lane.lane, std::nullopt, 1'000'000);
    for (const store::Due& one : *due) {
      const bool of_mailbox = std::any_of(dump.mailboxes.begin(), dump.mailboxes.end(),
                                          [&](const auto& box) { return box.state.run == one.run; });
      if (one.kind == store::Due::Kind::key || of_mailbox) continue;  // check_sends checks mailboxes
      const auto job =
          std::find_if(dump.jobs.begin(), dump.jobs.end(), [&](const auto& other) { return other.job.run == one.run; });
      if (job == dump.jobs.end() || core::is_closed(job->job.status))
        verdict_.fail("leftovers",
                      format("run {} is over, and the clock still has something to do for it", one.run.raw()));
    }
  }
  for (const store::memory::DumpedKey& key : dump.keys)
    if (key.expires_at != Instant() && key.expires_at < memory_.now() - options_.lease * 2)
      verdict_.fail("leftovers", format("the key of {} outlives its time", key.id.raw()));
}

void World::check_graph_job(const store::memory::DumpedJob& job, const JobEnd& end) {
  const std::string name = format("job {}", end.id);
  check_closed(job, name);
  const auto graph = scenario_.graphs->find(job.job.graph);
  if (const std::string problem = graph_job_problem(job, *graph, end); !problem.empty())
    verdict_.fail("final state", format("{} {}", name, problem));
  report_.canonical[name] = scenario_.race || job.job.status != core::JobStatus::completed
                                ? std::string(core::name_of(job.job.status))
                                : canonical_of_graph_job(job, *graph);
}

// Everything that was sent has arrived, and no hook is registered that no longer waits.
void World::check_sends(const store::memory::Dump& dump) {
  watch_.check_sends_at_end();
  for (const JobEnd& end : scenario_.ends)
    if (!end.may_be_missing || is_calm())
      if (std::count_if(dump.jobs.begin(), dump.jobs.end(),
                        [&](const auto& job) { return job.job.id.raw() == end.id; }) != 1)
        verdict_.fail("children", format("there should be one run of {}", end.id));
  for (const store::memory::DumpedLane& lane : dump.lanes)
    if (!lane.outbox.empty())
      verdict_.fail("sends", format("{} rows are left in the outbox of lane {}", lane.outbox.size(), lane.lane.raw()));
  for (const store::memory::DumpedMailbox& box : dump.mailboxes) {
    if (!box.inbox.empty())
      verdict_.fail("mailbox", format("{} messages wait at {}", box.inbox.size(), box.state.key.key));
    std::size_t signals = 0;
    for (const core::MailboxEntry& entry : box.state.entries) {
      const auto* registration = std::get_if<core::Register>(&entry.what);
      if (registration == nullptr)
        signals += entry.offered_to ? 0 : 1;
      else if (const auto status = watch_.status_of(registration->reply_to); !status || core::is_closed(*status))
        verdict_.fail("mailbox", format("a job that is over is still registered at {}", box.state.key.key));
    }
    if (box.timers.size() != signals)
      verdict_.fail("mailbox", format("{} early signals wait at {} with {} timers", signals, box.state.key.key,
                                      box.timers.size()));
  }
}

void World::check_job(const store::memory::DumpedJob& job, const WantedJob& wanted) {
  const std::string name = format("job {}/{}{}", wanted.name_space, wanted.id, wanted.tag);
  if (scenario_.poisoned && wanted.graph == "poison") {
    if (job.job.status != core::JobStatus::parked)
      verdict_.fail("poison", format("{} kills engines and is {}", name, core::name_of(job.job.status)));
    report_.canonical[name] = "parked";
    return;
  }
  const Expected& expected = expected_.at(&wanted);
  if (job.job.status == core::JobStatus::parked && is_damaged(job.job.run)) {
    report_.canonical[name] = "damaged";
    return;
  }
  if (job.job.status == core::JobStatus::parked) {
    if (expected.end != Expected::End::parked || expected.interruptible)
      verdict_.fail("final state", format("{} is parked: {}", name, job.job.reason));
    report_.canonical[name] = "parked";
    return;
  }
  check_closed(job, name);
  if (job.job.status != core::JobStatus::interrupted) return check_ending(job, wanted, name);
  if (!expected.interruptible) verdict_.fail("final state", format("{} was interrupted: {}", name, job.job.reason));
  report_.canonical[name] = "interrupted";
}

// What holds for every closed job, for every kind of end.
void World::check_closed(const store::memory::DumpedJob& job, const std::string& name) {
  if (!core::is_closed(job.job.status))
    return verdict_.fail("final state", format("{} is {}", name, core::name_of(job.job.status)));
  if (job.job.semaphore != 0) verdict_.fail("semaphore", format("{} ended at {}", name, job.job.semaphore));
  if (job.job.completions != 1) verdict_.fail("completion", format("{}: {} completions", name, job.job.completions));
  if (!job.inbox.empty() || !job.work.empty() || !job.timers.empty())
    verdict_.fail("messages", format("{} is closed and has {} messages, {} timers and {} work items left", name,
                                     job.inbox.size(), job.timers.size(), job.work.size()));
  std::size_t closers = 0;
  std::size_t finishers = 0;
  for (const core::MessageRecord& record : job.records) {
    if (record.ledger.done(ledger::MessageLedger::Step::finish)) ++finishers;
    if (record.ledger.job_closed()) ++closers;
  }
  const std::size_t wanted = job.activities.empty() ? 0 : 1;  // interrupted before it began
  if (closers != wanted || finishers != wanted)
    verdict_.fail("completion",
                  format("{}: {} messages closed it, {} ran the completion tasks", name, closers, finishers));
}

// A job that ended without interference.
void World::check_ending(const store::memory::DumpedJob& job, const WantedJob& wanted, const std::string& name) {
  const auto graph = scenario_.graphs->find(job.job.graph);
  const Expected& expected = expected_.at(&wanted);
  const bool failed = job.job.status == core::JobStatus::failed;
  if (expected.end != (failed ? Expected::End::failed : Expected::End::completed))
    return verdict_.fail(
        "final state", format("{} is {} and should not be ({})", name, core::name_of(job.job.status), job.job.reason));
  if (failed) {
    report_.canonical[name] = "failed";
    return;
  }
  if (job.job.redrives != expected.redrives)
    verdict_.fail("tries", format("{} was redriven {} times, {} would do", name, job.job.redrives, expected.redrives));
  const std::string canonical = canonical_of(job, *graph, verdict_);
  if (canonical != expected.canonical)
    verdict_.fail("final state", format("{} ended as\n  {}\nand should be\n  {}", name, canonical, expected.canonical));
  std::string closing_output;
  for (const core::MessageRecord& record : job.records)
    if (record.ledger.job_closed()) closing_output = job.activities[record.activity.raw()].output.str();
  if (graph->result_of()) {
    const auto named = std::find_if(job.activities.begin(), job.activities.end(),
                                    [&](const auto& a) { return a.node == *graph->result_of(); });
    closing_output = named->output.str();
  }
  if (job.job.result.view() != closing_output)
    verdict_.fail("final state", format("{}: its result is not the output of what closed it", name));
  report_.canonical[name] = canonical;
}

// An engine keeps to its budget of bytes. The possible excess is known: one item of each kind, and the replies of the
// current attempts, each with what its job takes while it is served.
void World::check_bytes(const Node& node) {
  const runtime::Engine& engine = *node.engine;
  const runtime::EngineBytes& most = bytes_max();
  const std::size_t payload = payload_max_ + 2048;  // with the other values of its row
  // A reply is in its activity, in the next activity's input, and in its message. Jobs of the graph language have more
  // activities than their graphs.
  const std::size_t job = (scenario_.is_graphs() ? 12 : 3) * replies_max_ * payload;
  const auto check = [&](const char* what, std::size_t held, std::size_t allowed) {
    if (held > allowed)
      verdict_.fail("bytes", format("engine {} holds {} bytes of {}; {} are allowed", node.index, held, what, allowed));
  };
  check("jobs at rest", engine.idle_bytes(), most.hot_jobs + job);
  check("work", engine.worker_bytes(), most.worker_queue + payload);
  // Jobs are let in up to `waiting`; the bundles decided for them come on top, with a limit for each group. A slot is
  // free when its reply is here, so there may be one reply of each slot in every group.
  const std::size_t groups = options_.groups_out_max + 1;
  check("what is on its way", engine.waiting_bytes(), most.waiting + groups * (most.group + (slots() + 2) * job));
}

// An engine's copy of a job equals the store's in every field: a job that was made in memory must not differ from one
// that was read.
void World::check_row(const core::JobRow& held) {
  const auto stored = memory_.read_job(held.run);
  if (!stored || !*stored) return;
  const core::JobRow& row = (*stored)->state.job;
  if (row == held || row.rev != held.rev) return;  // another revision: another engine continued the job
  std::string fields;
  const auto compare = [&](const char* name, bool same) {
    if (!same) fields += format(" {}", name);
  };
  compare("bundle", row.bundle == held.bundle);
  compare("status", row.status == held.status);
  compare("semaphore", row.semaphore == held.semaphore && row.threshold == held.threshold);
  compare("completions", row.completions == held.completions);
  compare("next_activity", row.next_activity == held.next_activity);
  compare("times", row.created_at == held.created_at && row.closed_at == held.closed_at &&
                       row.remove_at == held.remove_at && row.deadline == held.deadline && row.keep == held.keep);
  compare("result", row.result == held.result && row.reason == held.reason && row.code == held.code);
  compare("data", row.data == held.data);
  compare("parent", row.parent == held.parent);
  compare("secret", row.secret == held.secret);
  verdict_.fail("memory", format("job {} is held otherwise than it is stored:{}", held.id.raw(),
                                 fields.empty() ? " another field" : fields));
}

// If a slot is never given back, its worker never works again.
void World::check_slots() {
  if (scenario_.poisoned) return;
  for (const auto& node : nodes_)
    if (node->engine != nullptr && node->engine->free_slots() != slots())
      verdict_.fail("slots", format("engine {} has {} of {} slots free with nothing to do", node->index,
                                    node->engine->free_slots(), slots()));
  for (const auto& node : nodes_)
    if (node->engine != nullptr && node->promised != 0)
      verdict_.fail("slots", format("engine {} keeps room for {} remote workers with nothing to do", node->index,
                                    node->promised));
}

}  // namespace pawl::sim
