#include "testing/driver.h"

#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "runtime/events.h"
#include "testing/words.h"

namespace pawl::testing {

namespace {

// If the engine asks to look again and again at the same time, the clock moves on a little.
constexpr std::uint32_t looks_per_time_max = 8;

bool is_definite(const Result<store::Outcome>& outcome) {
  return outcome ? outcome->kind != store::OutcomeKind::outcome_unknown
                 : outcome.error().code != ErrorCode::outcome_unknown;
}
bool is_definite(const Result<runtime::Submitted>& result) {
  return result || result.error().code != ErrorCode::outcome_unknown;
}

}  // namespace

Driver::Driver(const TestOptions& options, PlannedFault fault, const runtime::GraphCatalog& graphs, Hooks hooks)
    : options_(options),
      fault_(fault),
      graphs_(graphs),
      hooks_(std::move(hooks)),
      clock_(options.starts_at),
      store_(clock_) {
  const Pool pool("graphs");
  const store::Operation open = store::OpenPool{pool, 1};
  (void)store_.commit({&open, 1});
  pool_ = **store_.read_pool(pool);
  boot();
}

void Driver::boot() {
  ++life_;
  runtime::EngineOptions options;
  options.name = "test";  // the same after every restart, so the lane is free as soon as the process is gone
  options.seed = Random::mix(options_.seed) + life_;
  options.looks_ahead = false;  // a read takes no time here, and a test that asks what is due means the timer
  options.fusion = options_.fusion ? core::Fusion::on : core::Fusion::off;
  engine_ = std::make_unique<runtime::Engine>(options, pool_, store_, clock_, graphs_,
                                              static_cast<runtime::EngineEvents&>(*this));
  for (const std::string& topic : topics_) engine_->serve(Topic(topic));
  for (const std::string& topic : probes_) engine_->offer_probe(Topic(topic));
  engine_->add_slots(limits::worker_queue_max);
  looks_ = 0;
  engine_->tick();
}

void Driver::crash() {
  hooks_.crashed();
  outcomes_.clear();
  submissions_.clear();
  boot();
}

void Driver::serve(const Topic& topic) {
  topics_.insert(topic.raw());
  engine_->serve(topic);
}

void Driver::offer_probe(const Topic& topic) {
  probes_.insert(topic.raw());
  engine_->offer_probe(topic);
}

bool Driver::step() {
  if (exhausted()) return false;
  in_engine_ = true;
  engine_->pump();
  in_engine_ = false;
  auto group = engine_->take_group();
  if (!group) return false;
  ++commits_;
  looks_ = 0;
  for (const store::Operation& operation : group->operations) tell(words_of(operation));
  const bool here = fault_.commit == commits_;
  if (here && fault_.fault == Fault::crash_before) return crash(), true;
  auto result = store_.commit(group->operations);
  if (here && fault_.fault == Fault::crash_after) return crash(), true;
  if (here && result) result = Error{ErrorCode::outcome_unknown, "the reply of this commit was lost, as planned"};
  in_engine_ = true;
  engine_->finished(std::move(*group), std::move(result));
  in_engine_ = false;
  return true;
}

bool Driver::look_at_clock() {
  const auto wake = engine_->next_wake();
  // The engine retries soon after the store refused. The driver moves the clock itself: no test waits for such a time.
  const bool must_wait = wake && *wake > clock_.monotonic() && engine_->store_refuses();
  if (!wake || (*wake > clock_.monotonic() && !must_wait)) return false;
  if (must_wait) clock_.move_to(*wake);
  if (looked_at_ != clock_.monotonic()) looks_ = 0;
  looked_at_ = clock_.monotonic();
  if (++looks_ > looks_per_time_max) clock_.move_to(clock_.monotonic() + Duration(1));
  in_engine_ = true;
  engine_->tick();
  in_engine_ = false;
  return true;
}

std::optional<Duration> Driver::next_wake() const { return engine_->next_wake(); }

void Driver::move_clock_to(Duration monotonic) {
  clock_.move_to(monotonic);
  in_engine_ = true;
  engine_->tick();
  in_engine_ = false;
}

Error Driver::too_many_commits() const {
  return {ErrorCode::over_limit,
          format("the test has made {} commits (TestOptions::commits_max): something goes round in a circle, or the "
                 "limit must be larger",
                 commits_)};
}

template <class Answer>
Result<Answer> Driver::until_answered(const std::function<void(runtime::Ticket)>& ask,
                                      std::map<runtime::Ticket, Result<Answer>>& answers) {
  if (in_engine_)
    return Error{ErrorCode::invalid,
                 "an observer runs within the engine and cannot wait for it: ask from the test, or from a worker"};
  for (;;) {
    const runtime::Ticket ticket = ++tickets_;
    const std::uint64_t life = life_;
    in_engine_ = true;
    ask(ticket);
    in_engine_ = false;
    for (;;) {
      if (auto found = answers.extract(ticket)) {
        if (is_definite(found.mapped())) return std::move(found.mapped());
        break;
      }
      if (life != life_) break;  // the process died, so the caller asks the next one
      if (exhausted()) return too_many_commits();
      if (step() || look_at_clock()) continue;
      return Error{ErrorCode::retry_later, "the engine does not answer"};
    }
  }
}

Result<store::Outcome> Driver::ask(const store::Operation& operation) {
  if (const auto* wanted = std::get_if<store::Submit>(&operation))
    return runtime::outcome_of(submit(runtime::request_of(*wanted)));
  return until_answered<store::Outcome>([&](runtime::Ticket ticket) { engine_->request(operation, ticket); },
                                        outcomes_);
}

Result<runtime::Submitted> Driver::submit(const runtime::SubmitRequest& request) {
  auto result = until_answered<runtime::Submitted>([&](runtime::Ticket ticket) { engine_->submit(request, ticket); },
                                                   submissions_);
  if (result ? result->created : result.error().code != ErrorCode::conflict) return result;
  // A repeated request finds the job that the first one created. By its secret the job is recognised as this caller's.
  const auto holder = store_.find_run(request.name_space, request.id);
  if (!holder || !*holder) return result;
  const auto row = store_.read_job_row(**holder);
  if (row && *row && (*row)->secret == request.secret) return runtime::Submitted{**holder, true};
  return result;
}

void Driver::answered(runtime::Ticket ticket, Result<store::Outcome> outcome) {
  outcomes_.insert_or_assign(ticket, std::move(outcome));
}

void Driver::submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) {
  submissions_.insert_or_assign(ticket, std::move(result));
}

void Driver::committed(const core::JobState& after, const core::Bundle& bundle) {
  const auto graph = graphs_.find(after.job.graph);
  if (graph == nullptr) return;
  runtime::for_each_event(after, bundle, *graph, clock_.now(), [this](const Event& event) {
    tell(words_of(event));
    hooks_.event(event);
  });
}

void Driver::tell(const std::string& what) {
  if (what.empty()) return;
  std::string& text = told_[commits_];
  text += (text.empty() ? "" : ", ") + what;
}

}  // namespace pawl::testing
