// World: what must be true at the end. Reads the store's dump, the clients' log and the journal
// only.
#include <algorithm>

#include "base/format.h"
#include "sim/model.h"
#include "sim/world.h"

namespace pawl::sim {

void World::check_end() {
  const store::memory::Dump dump = memory_.dump();
  for (const auto& [key, run] : acknowledged_) {
    const auto found = std::find_if(dump.jobs.begin(), dump.jobs.end(),
                                    [run = run](const auto& job) { return job.job.run == run; });
    if (found == dump.jobs.end())
      return verdict_.fail("client",
                           format("{}/{} was acknowledged and is lost", key.first, key.second));
  }
  for (const store::memory::DumpedJob& job : dump.jobs) {
    const auto wanted =
        std::find_if(scenario_.jobs.begin(), scenario_.jobs.end(), [&](const WantedJob& w) {
          return w.id == job.job.id.raw() && w.name_space == job.job.name_space.raw();
        });
    if (wanted == scenario_.jobs.end())
      return verdict_.fail("invented", format("nobody wanted job {}", job.job.id.raw()));
    check_job(job, *wanted);
  }
  check_slots();
  const bool calm = report_.fired == 0 && random_faults_ == 0 && report_.reads_failed == 0 &&
                    report_.crashes == 0;
  if (calm && journal_.begins() != journal_.requests())
    verdict_.fail("effects", format("{} requests ran {} times without any fault",
                                    journal_.requests(), journal_.begins()));
}

void World::check_job(const store::memory::DumpedJob& job, const WantedJob& wanted) {
  const std::string name = format("job {}/{}", wanted.name_space, wanted.id);
  const auto graph = scenario_.graphs->find(job.job.graph);
  const Expected expected = expect(scenario_, wanted);
  if (scenario_.poisoned && wanted.graph == "poison") {
    if (job.job.status != core::JobStatus::parked)
      verdict_.fail("poison",
                    format("{} kills engines and is {}", name, core::name_of(job.job.status)));
    report_.canonical[name] = "parked";
    return;
  }
  const auto wanted_status = expected.fails ? core::JobStatus::failed : core::JobStatus::completed;
  if (job.job.status != wanted_status)
    return verdict_.fail(
        "final state", format("{} is {} and should be {} ({})", name, core::name_of(job.job.status),
                              core::name_of(wanted_status), job.job.reason));
  if (job.job.semaphore != 0)
    verdict_.fail("semaphore", format("{} ended at {}", name, job.job.semaphore));
  if (job.job.completions != 1)
    verdict_.fail("completion", format("{}: {} completions", name, job.job.completions));
  if (!job.inbox.empty() || !job.work.empty())
    verdict_.fail("messages", format("{} is closed and has {} messages and {} work items left",
                                     name, job.inbox.size(), job.work.size()));
  std::size_t closers = 0;
  std::size_t finishers = 0;
  std::string closing_output;
  for (const core::MessageRecord& record : job.records) {
    if (record.ledger.done(ledger::MessageLedger::Step::finish)) ++finishers;
    if (!record.ledger.job_closed()) continue;
    ++closers;
    closing_output = job.activities[record.activity.raw()].output.str();
  }
  if (closers != 1 || finishers != 1)
    verdict_.fail("completion", format("{}: {} messages closed it, {} ran the completion tasks",
                                       name, closers, finishers));
  if (expected.fails) {
    report_.canonical[name] = "failed";
    return;
  }
  const std::string canonical = canonical_of(job, *graph, verdict_);
  if (canonical != expected.canonical)
    verdict_.fail("final state", format("{} ended as\n  {}\nand should be\n  {}", name, canonical,
                                        expected.canonical));
  if (graph->result_of()) {
    const auto named = std::find_if(job.activities.begin(), job.activities.end(),
                                    [&](const auto& a) { return a.node == *graph->result_of(); });
    closing_output = named->output.str();
  }
  if (job.job.result.view() != closing_output)
    verdict_.fail("final state",
                  format("{}: its result is not the output of what closed it", name));
  report_.canonical[name] = canonical;
}

// A slot that is never given back is a worker that never works again.
void World::check_slots() {
  if (scenario_.poisoned) return;
  for (const auto& node : nodes_)
    if (node->engine != nullptr && node->engine->free_slots() != options_.slots)
      verdict_.fail("slots", format("engine {} has {} of {} slots free with nothing to do",
                                    node->index, node->engine->free_slots(), options_.slots));
}

}  // namespace pawl::sim
