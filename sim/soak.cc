#include "sim/soak.h"

#include <malloc.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>

#include "base/format.h"
#include "base/invariant.h"
#include "base/random.h"
#include "runtime/engine.h"
#include "sim/clock.h"
#include "sim/event_queue.h"
#include "sim/model.h"
#include "sim/scenario.h"
#include "store/fault/store.h"
#include "store/sqlite/store.h"

namespace pawl::sim {

namespace {

constexpr Duration latency_max = std::chrono::milliseconds(2);
constexpr Duration work_max = std::chrono::minutes(1);
constexpr Duration restart_max = std::chrono::seconds(5);
constexpr Duration client_timeout = std::chrono::seconds(2);
constexpr Duration job_patience = std::chrono::minutes(30);  // a job takes minutes: after this time it is lost
constexpr const char* graphs[] = {"chain", "fan_chain", "caught", "pending"};

// Asked through a separate connection: an oracle does not call the code that it checks.
class RowCounter {
 public:
  struct Counts {
    std::uint64_t live = 0;
    std::uint64_t closed = 0;
  };
  static Counts count(const std::string& path) {
    sqlite3* database = nullptr;
    Counts counts;
    invariant(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK,
              "the file is there");
    counts.live = number(database,
                         "SELECT (SELECT count(*) FROM jobs WHERE status NOT BETWEEN 1 AND 3)"
                         " + (SELECT count(*) FROM jobs j JOIN activities a ON a.run = j.run"
                         "    WHERE j.status NOT BETWEEN 1 AND 3)"
                         " + (SELECT count(*) FROM jobs j JOIN message_ledgers m ON m.run = j.run"
                         "    WHERE j.status NOT BETWEEN 1 AND 3)"
                         " + (SELECT count(*) FROM inbox) + (SELECT count(*) FROM mailboxes)"
                         " + (SELECT count(*) FROM mailbox_entries) + (SELECT count(*) FROM lanes)");
    const std::uint64_t all = number(
        database,
        "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM activities)"
        " + (SELECT count(*) FROM message_ledgers) + (SELECT count(*) FROM start_keys) + (SELECT count(*) FROM inbox)"
        " + (SELECT count(*) FROM mailboxes) + (SELECT count(*) FROM mailbox_entries) + (SELECT count(*) FROM lanes)");
    counts.closed = all - counts.live;
    sqlite3_close(database);
    return counts;
  }

 private:
  static std::uint64_t number(sqlite3* database, const char* sql) {
    sqlite3_stmt* statement = nullptr;
    invariant(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK, "the tables are as expected");
    invariant(sqlite3_step(statement) == SQLITE_ROW, "a count is one row");
    const std::int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return static_cast<std::uint64_t>(value);
  }
};

std::uint64_t resident_bytes() {
  unsigned long pages = 0;
  unsigned long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

class Soak final : public runtime::EngineEvents {
 public:
  explicit Soak(const SoakOptions& options)
      : options_(options), random_(options.seed), scenario_(all_scenarios().front()) {
    std::filesystem::create_directories(options_.directory);
    path_ = options_.directory + "/soak.db";
  }

  SoakReport run() {
    crash_at_ = drawn(options_.length / options_.crashes);
    open_store();
    boot();
    arrive();
    sample();
    while (verdict_.ok() && !events_.empty() && events_.next_at() <= options_.length) {
      clock_.set(events_.next_at());
      events_.take()();
    }
    engine_.reset();
    if (faulty_ != nullptr) count_calls();
    faulty_.reset();
    store_.reset();
    if (verdict_.ok())
      if (auto grown = growth_in(report_.samples, options_.counted)) verdict_.fail(grown->oracle, grown->detail);
    report_.violation = verdict_.violation();
    return std::move(report_);
  }

 private:
  struct Job {
    WantedJob wanted;
    Duration since{0};
    std::optional<RunId> run;  // none: not acknowledged yet
  };

  Duration drawn(Duration up_to) {
    return Duration(1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(up_to.count()))));
  }
  void post(Duration delay, std::function<void()> act) { events_.post(clock_.monotonic() + delay, std::move(act)); }
  // For the current engine: its successor does not know it.
  void post_to_engine(Duration delay, std::function<void()> act) {
    post(delay, [this, life = life_, act = std::move(act)] {
      if (life == life_) act();
    });
  }

  void open_store() {
    store::sqlite::Options options;
    options.durability = store::sqlite::Durability::process_death;  // no power loss here
    options.clock = &clock_;
    // Small, so that they are full within minutes and cause no later growth.
    options.cache_kib = 512;
    options.reader_cache_kib = 256;
    options.checkpoint_pages = 1000;
    auto opened = store::sqlite::Store::open(path_, options);
    invariant(opened.ok(), "the soak's file can be opened");
    store_ = std::move(*opened);
    faulty_ = std::make_unique<store::fault::Store>(
        *store_,
        store::fault::Options{[this](const store::fault::Call&) { return fault_; }, nullptr, 1, options_.seed + life_});
    const store::Operation pool = store::OpenPool{Pool("graphs"), 2};
    invariant(store_->commit({&pool, 1}).ok(), "the pool is there or can be made");
  }

  void boot() {
    runtime::EngineOptions options;
    options.name = format("soak-{}", life_);
    options.seed = Random::mix(options_.seed) + life_;
    const auto pool = store_->read_pool(Pool("graphs"));
    invariant(pool.ok() && pool->has_value(), "a healthy store reads its pools");
    engine_ = std::make_unique<runtime::Engine>(options, **pool, *faulty_, clock_, *scenario_.graphs, *this);
    group_out_ = false;
    wake_at_.reset();
    for (const char* graph : graphs)
      for (const Graph::Node& node : scenario_.graphs->newest(GraphName(graph))->nodes())
        if (node.kind == Graph::Kind::worker) engine_->serve(node.topic);
    engine_->add_slots(1000);
    engine_->tick();
    step();
  }

  void crash() {
    ++report_.crashes;
    ++life_;
    engine_.reset();
    count_calls();
    faulty_.reset();
    store_.reset();
    post(drawn(restart_max), [this] {
      open_store();
      boot();
    });
  }
  void count_calls() { report_.commits += faulty_->calls(); }

  void step() {
    engine_->pump();
    if (!group_out_)
      if (auto group = engine_->take_group()) send(std::move(*group));
    if (engine_ == nullptr) return;
    const auto wake = engine_->next_wake();
    if (!wake || (wake_at_ && *wake_at_ <= *wake)) return;
    wake_at_ = *wake;
    post_to_engine(std::max(*wake - clock_.monotonic(), latency_max), [this] {
      wake_at_.reset();
      engine_->tick();
      step();
    });
  }

  void send(runtime::Group group) {
    using store::fault::Kind;
    group_out_ = true;
    const bool dies = clock_.monotonic() >= crash_at_;
    if (dies)
      crash_at_ =
          clock_.monotonic() + options_.length / options_.crashes / 2 + drawn(options_.length / options_.crashes);
    if (dies && random_.below(2) == 0) return crash();  // before the commit
    const bool broken = !dies && random_.below(10'000) < options_.faults_per_ten_thousand;
    if (broken) ++report_.faults;
    constexpr Kind kinds[] = {Kind::error_after, Kind::error_before, Kind::drop_midway, Kind::duplicate};
    const Kind kind = broken ? kinds[random_.below(std::size(kinds))] : Kind::none;
    auto shared = std::make_shared<runtime::Group>(std::move(group));
    post_to_engine(drawn(latency_max), [this, shared, kind, dies] {
      fault_ = {kind, random_.below(shared->operations.size() + 1)};
      auto result = std::make_shared<Result<std::vector<store::Outcome>>>(faulty_->commit(shared->operations));
      fault_ = {};
      if (dies) return crash();
      post_to_engine(drawn(latency_max), [this, shared, result] {
        group_out_ = false;
        engine_->finished(std::move(*shared), std::move(*result));
        step();
      });
    });
  }

  // Jobs arrive evenly, a client asks again until it gets an answer.
  void arrive() {
    const std::uint64_t number = submitted_++;
    Job job;
    job.wanted.id = format("j{}", number);
    job.wanted.graph = graphs[number % std::size(graphs)];
    job.since = clock_.monotonic();
    jobs_.emplace(number, std::move(job));
    submit(number);
    const Duration every = std::chrono::duration_cast<Duration>(std::chrono::hours(1)) / options_.jobs_per_hour;
    post(every / 2 + drawn(every), [this] { arrive(); });
  }

  void submit(std::uint64_t number) {
    const auto job = jobs_.find(number);
    if (job == jobs_.end() || job->second.run) return;
    if (engine_ != nullptr) {
      const WantedJob& wanted = job->second.wanted;
      engine_->submit({Namespace(wanted.name_space), JobId(wanted.id), GraphName(wanted.graph), input_of(wanted),
                       core::JobSecret(core::Guid{options_.seed, number + 1})},
                      number + 1);
      step();
    }
    post(client_timeout, [this, number] { submit(number); });
  }

  void sample() {
    look_after_jobs();
    SoakSample now;
    now.at = clock_.monotonic();
    now.submitted = submitted_;
    now.closed = closed_;
    now.open = jobs_.size();
    const auto rows = RowCounter::count(path_);
    now.live_rows = rows.live;
    now.closed_rows = rows.closed;
    const struct mallinfo2 heap = mallinfo2();
    now.heap_bytes = heap.uordblks + heap.hblkhd;
    now.resident_bytes = resident_bytes();
    report_.samples.push_back(now);
    post(options_.length / options_.samples, [this] { sample(); });
  }

  // An engine that dies between a commit and its announcement leaves a closed job that nobody was notified of.
  void look_after_jobs() {
    if (store_ == nullptr) return;
    std::vector<std::uint64_t> ended;
    for (const auto& [number, job] : jobs_) {
      if (clock_.monotonic() - job.since < client_timeout) continue;
      const auto run = store_->find_run(Namespace(job.wanted.name_space), JobId(job.wanted.id));
      if (!run) return verdict_.fail("soak", to_string(run.error()));
      if (*run) {
        const auto stored = store_->read_job(**run);
        if (!stored || !*stored) return verdict_.fail("soak", format("{} cannot be read", job.wanted.id));
        const core::JobRow& row = (*stored)->state.job;
        if (job.run && core::is_closed(row.status) && row.completions > 0) ended.push_back(number);
      } else if (job.run) {
        return verdict_.fail("soak", format("{} was acknowledged and is gone", job.wanted.id));
      }
      if (clock_.monotonic() - job.since > job_patience && (ended.empty() || ended.back() != number))
        return verdict_.fail("liveness", format("{} has not ended after {} s", job.wanted.id,
                                                (clock_.monotonic() - job.since).count() / 1'000'000));
    }
    for (const std::uint64_t number : ended) end(number);
  }

  // Compares what the store holds of a closed job with the model, then forgets the job.
  void end(std::uint64_t number) {
    const auto found = jobs_.find(number);
    if (found == jobs_.end()) return;
    const Job job = std::move(found->second);
    jobs_.erase(found);
    ++closed_;
    const auto stored = store_->read_job(*job.run);
    if (!stored || !*stored) return verdict_.fail("soak", format("{} is closed and cannot be read", job.wanted.id));
    const core::JobState& state = (*stored)->state;
    store::memory::DumpedJob dumped;
    dumped.job = state.job;
    dumped.activities.assign(state.activities().begin(), state.activities().end());
    for (const auto& [guid, record] : state.messages()) dumped.records.push_back(record);
    std::sort(dumped.records.begin(), dumped.records.end(),
              [](const auto& a, const auto& b) { return a.guid < b.guid; });
    if (state.job.status != core::JobStatus::completed || state.job.completions != 1 || !(*stored)->inbox.empty() ||
        !state.work().empty())
      return verdict_.fail("final state",
                           format("{} is {} and left {} messages, {} work items", job.wanted.id,
                                  core::name_of(state.job.status), (*stored)->inbox.size(), state.work().size()));
    const auto graph = scenario_.graphs->find(state.job.graph);
    const std::string canonical = canonical_of(dumped, *graph, verdict_);
    const Expected expected = expect(scenario_, job.wanted);
    if (canonical != expected.canonical)
      verdict_.fail("final state",
                    format("{} ended as\n  {}\nand should be\n  {}", job.wanted.id, canonical, expected.canonical));
  }

  // EngineEvents.
  void dispatch(const core::WorkItem& item) override {
    post_to_engine(drawn(work_max), [this, item] { answer(item, 0); });
  }
  void answer(const core::WorkItem& item, std::uint32_t reply) {
    const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
    const bool pending = reply < behaviour.pendings;
    engine_->answer({item.run, item.activity, item.token, item.request,
                     pending ? core::ReplyStatus::pending : behaviour.status, pending ? 202 : behaviour.code,
                     reply_data(item.topic.raw(), item.input.view(), behaviour,
                                pending ? std::optional<std::uint32_t>(reply) : std::nullopt),
                     pending ? reply : 0});
    if (pending) post_to_engine(drawn(work_max), [this, item, reply] { answer(item, reply + 1); });
    step();
  }
  void submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) override {
    const auto job = jobs_.find(ticket - 1);
    if (result && job != jobs_.end()) job->second.run = result->run;
  }
  void cancel(const runtime::WorkRun&) override {}
  void probe(const core::WorkItem&) override {}
  void answered(runtime::Ticket, Result<store::Outcome>) override {}
  void committed(const core::JobState&, const core::Bundle&) override {}
  void closed(const core::JobRow& job) override {
    // Its submit's answer may have been lost: then the client gets it when it asks again.
    const std::uint64_t number = std::strtoull(job.id.raw().c_str() + 1, nullptr, 10);
    const auto known = jobs_.find(number);
    if (known != jobs_.end() && known->second.run) end(number);
  }
  void problem(const std::string&) override {}
  void ring(core::LaneId, const store::Change&) override {}  // there is no other process

  const SoakOptions options_;
  Random random_;
  const Scenario& scenario_;  // for its graphs and behaviours, which all scenarios share
  std::string path_;
  VirtualClock clock_;
  EventQueue events_;
  Verdict verdict_;
  SoakReport report_;
  std::unique_ptr<store::sqlite::Store> store_;  // null: between two processes, as the two below
  store::fault::Fault fault_;
  std::unique_ptr<store::fault::Store> faulty_;
  std::unique_ptr<runtime::Engine> engine_;
  std::uint64_t life_ = 0;
  bool group_out_ = false;
  Duration crash_at_{0};  // at the first commit from then on
  std::optional<Duration> wake_at_;
  std::map<std::uint64_t, Job> jobs_;  // those not ended, by number
  std::uint64_t submitted_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace

SoakReport run_soak(const SoakOptions& options) { return Soak(options).run(); }

std::optional<Violation> growth_in(const std::vector<SoakSample>& samples, CountedRows counted) {
  if (samples.size() < 8) return Violation{"soak", "too few samples to compare"};
  const auto mean = [&](std::size_t quarter, const std::function<std::uint64_t(const SoakSample&)>& of) {
    const std::size_t from = samples.size() * quarter / 4;
    const std::size_t to = samples.size() * (quarter + 1) / 4;
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += static_cast<double>(of(samples[i]));
    return sum / static_cast<double>(to - from);
  };
  struct Measure {
    const char* name;
    double slack;  // how much a quarter may exceed another by chance, beside a tenth
    std::function<std::uint64_t(const SoakSample&)> of;
  };
  const Measure measures[] = {
      {"stored rows", 40,
       [&](const SoakSample& s) { return s.live_rows + (counted == CountedRows::all ? s.closed_rows : 0); }},
      {"bytes of heap", 256 << 10, [](const SoakSample& s) { return s.heap_bytes; }},
      {"bytes of resident memory", 1 << 20, [](const SoakSample& s) { return s.resident_bytes; }},
  };
  for (const Measure& measure : measures) {
    const double second = mean(1, measure.of);
    const double last = mean(3, measure.of);
    if (last > second * 1.1 + measure.slack)
      return Violation{"growth",
                       format("{}: {:.0f} in the second quarter, {:.0f} in the last", measure.name, second, last)};
  }
  return std::nullopt;
}

}  // namespace pawl::sim
