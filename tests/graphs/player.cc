#include "graphs/player.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include "base/clock.h"
#include "execute/assemble.h"
#include "execute/program.h"
#include "graph/check.h"
#include "graph/report.h"
#include "graphs/stores.h"
#include "mapping/json_parse.h"
#include "runtime/engine.h"
#include "runtime/lane_table.h"
#include "store/fault/store.h"

namespace pawl::graphs {

using core::Graph;

namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr std::uint64_t commits_max = 20'000;  // more than this means an endless loop
constexpr Duration lease = seconds(60);
constexpr Duration started_at{1'000'000};  // of the clock
constexpr Duration horizon = std::chrono::hours(2);

class JumpingClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'700'000'000'000'000) + at_; }
  Duration monotonic() const override { return at_; }
  void jump_to(Duration at) { at_ = std::max(at_, at); }
  void advance(Duration by) { at_ += by; }

 private:
  Duration at_ = started_at;
};

// "$input" in a reply is replaced by the request.
json::value filled(const json::value& data, const json::value& input) {
  if (data.is_string() && data.get_string() == "$input") return input;
  if (data.is_array()) {
    json::array made;
    for (const json::value& item : data.get_array()) made.push_back(filled(item, input));
    return made;
  }
  if (data.is_object()) {
    json::object made;
    for (const auto& [key, item] : data.get_object()) made[key] = filled(item, input);
    return made;
  }
  if (data.is_string() && data.get_string().starts_with("$input.") && input.is_object()) {
    const json::value* found = input.get_object().if_contains(data.get_string().subview(7));
    return found == nullptr ? json::value() : *found;
  }
  return data;
}

class Player final : public runtime::EngineEvents {
 public:
  Player(const Case& one, const Setting& setting, std::optional<Broken> broken, BadReads bad_reads)
      : case_(one), setting_(setting), broken_(broken), bad_reads_(bad_reads) {}

  Played play() {
    if (!deploy() || !open()) return std::move(played_);
    boot();
    for (const CaseStart& other : case_.before)
      if (!submit(other, false)) return std::move(played_);
    if (!submit(case_.start, true)) return std::move(played_);
    run();
    if (played_.problem.empty()) read_all();
    engine_.reset();
    return std::move(played_);
  }

  // --- EngineEvents
  void dispatch(const core::WorkItem& item) override { work_.push_back(item); }
  void cancel(const runtime::WorkRun& run) override { cancelled_.insert(run.token.raw()); }
  void probe(const core::WorkItem&) override {}
  void answered(runtime::Ticket ticket, Result<store::Outcome> outcome) override {
    const bool definite = outcome && outcome->kind != store::OutcomeKind::outcome_unknown;
    if (definite) asked_.erase(ticket);
  }
  void submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) override {
    if (result)
      asked_.erase(ticket);
    else if (result.error().code == ErrorCode::invalid || result.error().code == ErrorCode::not_found)
      played_.problem = result.error().detail;
  }
  void committed(const core::JobState&, const core::Bundle&) override {}
  void closed(const core::JobRow&) override {}
  void problem(const std::string& text) override { problems_.push_back(text); }
  void ring(core::LaneId, const store::Change&) override {}  // there is no other process

 private:
  bool deploy() {
    const graph::Checked checked = graph::check_text(case_.app);
    if (checked.app == nullptr) return fail(graph::report_text(checked, graph::Colours::off));
    auto graphs = execute::assemble(checked.app, case_.app);
    if (!graphs) return fail(graphs.error().detail);
    for (Graph& graph : *graphs) {
      for (const Graph::Node& node : graph.nodes())
        if (node.kind == Graph::Kind::worker && !node.topic.raw().empty()) topics_.insert(node.topic.raw());
      refs_.push_back(runtime::ref_of(graph));
      if (const auto added = graphs_.add(std::move(graph)); !added) return fail(added.error().detail);
    }
    for (const auto& [topic, replies] : case_.workers) topics_.insert(topic);
    return true;
  }

  bool open() {
    auto opened = open_store(setting_.store, clock_);
    if (!opened) return fail(to_string(opened.error()));
    opened_ = std::move(*opened);
    inner_ = opened_.store.get();
    const store::Operation pool = store::OpenPool{Pool("graphs"), 2};
    if (const auto made = inner_->commit({&pool, 1}); !made) return fail(made.error().detail);
    store::fault::Options options;
    options.plan = [this](const store::fault::Call& call) { return fault_at(call); };
    options.read_faults_per_thousand = bad_reads_.per_thousand;
    options.seed = bad_reads_.seed;
    store_ = std::make_unique<store::fault::Store>(*inner_, options);
    pool_ = **inner_->read_pool(Pool("graphs"));
    return true;
  }

  store::fault::Fault fault_at(const store::fault::Call& call) const {
    using Kind = store::fault::Kind;
    if (!broken_ || broken_->call != call.number) return {};
    switch (broken_->what) {
      case Break::crash_before:
      case Break::crash_after:
        return {};
      case Break::refused:
        return {Kind::error_before};
      case Break::reply_lost:
        return {Kind::error_after};
      case Break::cut_midway:
        return {Kind::drop_midway, call.group.size() / 2};
      case Break::fenced:
        return {Kind::fence};
      case Break::repeated:
        return {Kind::duplicate};
    }
    return {};
  }

  void boot() {
    work_.clear();
    cancelled_.clear();
    runtime::EngineOptions options;
    options.name = "e";
    options.seed = ++life_;
    options.lease = lease;
    options.signal_page_jobs = 2;
    options.mailbox_page.messages = 2;
    options.fusion = setting_.fusion ? core::Fusion::on : core::Fusion::off;
    engine_ = std::make_unique<runtime::Engine>(options, pool_, *store_, clock_, graphs_, *this);
    for (const std::string& topic : topics_) engine_->serve(Topic(topic));
    engine_->add_slots(1000);
    engine_->tick();
  }

  bool submit(const CaseStart& start, bool main) {
    for (const core::GraphRef& ref : refs_) {
      const auto graph = graphs_.find(ref);
      const execute::GraphProgram& program = *execute::GraphProgram::of(*graph);
      const bool wanted = start.topic.empty() ? &ref == &refs_.front() : program.source().subscribes == start.topic;
      if (!wanted) continue;
      auto input = program.check_start(Payload(json::serialize(start.input)));
      if (!input) return fail(input.error().detail);
      const auto id = program.start_id(*input, clock_.now());
      if (!id) return fail(id.error().detail);
      runtime::SubmitRequest request{default_namespace(), JobId(start.id.empty() ? "main" : start.id), ref.name, *input,
                                     core::JobSecret(core::Guid{1, ticket_ + 1})};
      if (start.id.empty() && *id) request.id = **id;
      request.version = ref;
      if (main) played_.main = request.id.raw();
      const runtime::Ticket ticket = ++ticket_;
      asked_.emplace(ticket, [this, request, ticket] { engine_->submit(request, ticket); });
      asked_.at(ticket)();
      return true;
    }
    return fail("no graph subscribes to " + start.topic);
  }

  void run() {
    for (;;) {
      if (played_.commits > commits_max) {
        fail("it does not come to an end");
        return;
      }
      engine_->pump();
      if (commit()) continue;
      if (!played_.problem.empty()) return;
      if (answer_work() || ask_again() || signal() || interrupt() || redrive()) continue;
      if (!wait()) return;
    }
  }

  bool commit() {
    auto group = engine_->take_group();
    if (!group) return false;
    ++played_.commits;
    const bool here = broken_ && broken_->call == played_.commits;
    if (here && broken_->what == Break::crash_before) {
      ++skipped_;
      boot();
      return true;
    }
    auto result = store_->commit(group->operations);
    if (here && broken_->what == Break::crash_after) {
      boot();
      return true;
    }
    engine_->finished(std::move(*group), std::move(result));
    return true;
  }

  const CaseReply* reply_for(const core::WorkItem& item) {
    const auto replies = case_.workers.find(item.topic.raw());
    if (replies == case_.workers.end() || replies->second.empty()) return nullptr;
    const auto number = requests_.try_emplace(item.request, seen_[item.topic.raw()]);
    if (number.second) ++seen_[item.topic.raw()];
    return &replies->second[std::min<std::size_t>(number.first->second, replies->second.size() - 1)];
  }

  bool answer_work() {
    if (work_.empty()) return false;
    const core::WorkItem item = work_.front();
    work_.pop_front();
    ++played_.calls[item.topic.raw()];
    const CaseReply* reply = reply_for(item);
    const auto parsed = mapping::parse_json(item.input.view());
    const json::value input = parsed ? *parsed : json::value(std::string(item.input.view()));
    const auto say = [&](core::ReplyStatus status, std::int32_t code, const json::value& data, std::uint64_t index) {
      engine_->answer({item.run, item.activity, item.token, item.request, status, code,
                       Payload(json::serialize(filled(data, input))), index});
    };
    if (reply == nullptr) {
      say(core::ReplyStatus::success, 200, input, 0);
      return true;
    }
    if (reply->silent) return true;
    if (item.life.failures < reply->fails) {
      const std::size_t nth = std::min<std::size_t>(item.life.failures, reply->fails_with.size() - 1);
      say(core::ReplyStatus::error, reply->fails_with[nth], json::value("a try that fails"), 0);
      return true;
    }
    if (reply->before_redrive && redrives_of(item.run) == 0) {
      say(core::ReplyStatus::success, 200, *reply->before_redrive, 0);
      return true;
    }
    for (std::size_t i = 0; i < reply->pending.size(); ++i) say(core::ReplyStatus::pending, 202, reply->pending[i], i);
    const auto status = reply->status == "error"   ? core::ReplyStatus::error
                        : reply->status == "fatal" ? core::ReplyStatus::fatal
                                                   : core::ReplyStatus::success;
    say(status, reply->code, reply->data, 0);
    if (reply->twice) say(status, reply->code, reply->data, 0);
    return true;
  }

  std::uint32_t redrives_of(RunId run) {
    const auto job = inner_->read_job(run);
    return job && *job ? (*job)->state.job.redrives : 0;
  }

  // A person sees the parked job, corrects the cause and redrives it.
  bool redrive() {
    const auto job = case_.redrives == 0 ? std::nullopt : read(played_.main);
    if (!job || job->state.job.status != core::JobStatus::parked || !asked_.empty()) return false;
    if (job->state.job.redrives >= case_.redrives) return false;
    for (const core::InboxMessage& waiting : job->inbox)
      if (std::holds_alternative<core::Redrive>(waiting.message.body)) return false;
    store::Deliver deliver;
    deliver.envelope = {job->state.job.run, {core::Guid{57, ++guid_}, core::Redrive{}}};
    ask(std::move(deliver));
    return true;
  }

  // A client whose answer was not definite asks again.
  bool ask_again() {
    if (asked_.empty() || clock_.monotonic() < ask_at_) return false;
    ask_at_ = clock_.monotonic() + seconds(1);
    for (const auto& [ticket, ask] : std::map(asked_)) ask();
    return true;
  }

  bool is_open(const std::string& activity) {
    const auto job = read(played_.main);
    if (!job) return false;
    const auto graph = graphs_.find(job->state.job.graph);
    if (activity == "start") return true;
    if (activity == "end") return core::is_closed(job->state.job.status);
    for (const core::Activity& one : job->state.activities())
      if (graph->nodes()[one.node].name.raw() == activity && one.status == core::ActivityStatus::open) return true;
    return false;
  }

  bool signal() {
    if (next_signal_ >= case_.signals.size()) return false;
    const CaseSignal& signal = case_.signals[next_signal_];
    if (signal.at ? clock_.monotonic() < sends_at(signal) : !is_open(signal.after)) return false;
    if (++signalled_ >= signal.times) {
      ++next_signal_;
      signalled_ = 0;
    }
    const auto graph = graphs_.find(refs_.front());
    const Payload data(json::serialize(signal.data));
    const auto keys = execute::GraphProgram::of(*graph)->keys_of(Topic(signal.topic), data);
    if (!keys) return fail(keys.error().detail), true;
    const auto status = signal.pending ? core::ReplyStatus::pending : core::ReplyStatus::success;
    const std::int32_t code = signal.code != 0 ? signal.code : signal.pending ? 202 : 200;
    for (const std::string& key : *keys) {
      store::Deliver deliver;
      const core::MailboxKey to{default_namespace(), Topic(signal.topic), key};
      deliver.envelope = {to, {core::Guid{55, ++guid_}, core::Signal{data, status, code}}};
      deliver.lane = runtime::lane_for(pool_, to);
      ask(std::move(deliver));
    }
    return true;
  }

  Duration sends_at(const CaseSignal& signal) const { return started_at + Duration(*signal.at); }

  bool interrupt() {
    if (case_.interrupt_after.empty() || interrupted_ || !is_open(case_.interrupt_after)) return false;
    interrupted_ = true;
    store::Deliver deliver;
    deliver.envelope = {read(played_.main)->state.job.run,
                        {core::Guid{56, ++guid_}, core::Interrupt{410, "asked for"}}};
    ask(std::move(deliver));
    return true;
  }

  void ask(store::Operation operation) {
    const runtime::Ticket ticket = ++ticket_;
    asked_.emplace(ticket, [this, operation, ticket] { engine_->request(operation, ticket); });
    asked_.at(ticket)();
  }

  // Time passes until something is due. False: nothing will be.
  bool wait() {
    auto wake = engine_->next_wake();
    if (!asked_.empty() && (!wake || ask_at_ < *wake)) wake = ask_at_;
    if (next_signal_ < case_.signals.size() && case_.signals[next_signal_].at)
      wake = std::min(wake.value_or(horizon), sends_at(case_.signals[next_signal_]));
    if (!wake || *wake > clock_.monotonic() + horizon) return false;
    clock_.jump_to(std::max(*wake, clock_.monotonic() + Duration(1)));
    engine_->tick();
    if (!is_settled()) return true;
    if (bad_reads_.per_thousand == 0) return false;
    // Failed reads succeed in the end, and soon nothing is left to be done.
    if (!healed_) store_->heal();
    if (!healed_) healed_ = clock_.monotonic();
    return clock_.monotonic() < *healed_ + seconds(5);
  }

  bool is_settled() {
    if (next_signal_ < case_.signals.size() && case_.signals[next_signal_].after == "end" && is_open("end"))
      return false;
    if (!asked_.empty() || engine_->store_refuses() || engine_->owned_lanes().size() < pool_.lanes) return false;
    bool open = false;
    store::ListQuery query;
    const auto jobs = inner_->list_jobs(query);
    for (const core::JobRow& job : *jobs)
      if (!(core::is_closed(job.status) && job.completions > 0) && !core::is_stopped(job.status)) open = true;
    return !open || !something_is_due();
  }

  // A distant time alone will not cause anything more, but the next signal may.
  bool something_is_due() {
    if (next_signal_ < case_.signals.size() && case_.signals[next_signal_].at) return true;
    if (next_signal_ < case_.signals.size() && case_.signals[next_signal_].after != "end" &&
        is_open(case_.signals[next_signal_].after))
      return true;
    for (std::uint32_t i = 0; i < pool_.lanes; ++i) {
      const auto due = inner_->read_due(core::LaneId(pool_.first.raw() + i), std::nullopt, 1);
      const auto waiting = inner_->read_waiting(core::LaneId(pool_.first.raw() + i), RunId(0), 100);
      const auto is_served = [&](const store::Waiting& one) {
        const auto job = inner_->read_job(one.run);
        return !*job || !core::is_stopped((*job)->state.job.status);
      };
      if (std::any_of(waiting->begin(), waiting->end(), is_served) ||
          (!due->empty() && due->front().at <= clock_.now() + horizon))
        return true;
    }
    return false;
  }

  std::optional<store::StoredJob> read(const std::string& id) {
    const auto run = inner_->find_run(default_namespace(), JobId(id));
    if (!run || !*run) return std::nullopt;
    auto job = inner_->read_job(**run);
    if (!job || !*job) return std::nullopt;
    return std::move(**job);
  }

  void read_all() {
    const auto jobs = inner_->list_jobs(store::ListQuery{{}, {}, RunId(0), 1000});
    for (const core::JobRow& row : *jobs) {
      const auto stored = inner_->read_job(row.run);
      if (!stored || !*stored) continue;
      PlayedJob job;
      job.status = core::name_of(row.status);
      job.data = (*stored)->state.job.data.str();
      job.reason = (*stored)->state.job.reason;
      job.code = (*stored)->state.job.code;
      job.took_seconds = static_cast<double>(row.closed_at.micros() - (*stored)->state.job.created_at.micros()) / 1e6;
      job.semaphore = (*stored)->state.job.semaphore;
      job.completions = (*stored)->state.job.completions;
      if (core::is_closed(row.status))
        job.left = (*stored)->inbox.size() + (*stored)->timers.size() + (*stored)->state.work().size();
      const auto graph = graphs_.find(row.graph);
      for (const core::Activity& one : (*stored)->state.activities())
        job.activities.push_back({graph->nodes()[one.node].name.raw(), std::string(one.at.text()), one.ledger.digits(),
                                  std::string(core::name_of(one.status)), one.code, one.output.str()});
      store::AnnouncementQuery said;
      said.lane = core::lane_of(row.run);
      said.run = row.run;
      const auto announced = inner_->read_announcements(said);
      for (const store::AnnouncementRow& one : *announced)
        job.announced.push_back({{"end", one.said.what == core::Announce::What::end},
                                 {"code", one.said.code},
                                 {"data", *mapping::parse_json(one.said.data.view())}});
      played_.jobs.emplace(row.id.raw(), std::move(job));
    }
    read_measures();
    read_labels();
    for (const std::string& text : problems_)
      if (text.find("rejected") != std::string::npos) played_.problem = text;
  }

  void read_measures() {
    for (const core::GraphRef& ref : refs_) {
      const auto rows = inner_->read_measures({default_namespace(), ref.name, std::nullopt, "", "", 1000});
      for (const store::MeasureRow& row : *rows) {
        json::object one{{"key", row.key}, {"target", row.target}, {"count", row.count}, {"sum", row.sum}};
        if (row.value) one["value"] = *row.value;
        played_.measures.push_back(std::move(one));
      }
    }
  }

  void read_labels() {
    if (!case_.labels) return;
    for (const json::value& asked : *case_.labels) {
      json::object one = asked.as_object();
      const auto text = [&](const char* name) { return std::string(one.at(name).as_string()); };
      store::ListQuery query;
      query.name_space = default_namespace();
      query.label = store::ListQuery::Labelled{GraphName(text("graph")), text("name"), text("value"), std::nullopt};
      std::set<std::string> ids;
      const auto found = inner_->list_jobs(query);
      for (const core::JobRow& row : *found) ids.insert(row.id.raw());
      one["jobs"] = json::array(ids.begin(), ids.end());
      played_.labels.push_back(std::move(one));
    }
  }

  bool fail(std::string why) {
    played_.problem = std::move(why);
    return false;
  }

  const Case& case_;
  const Setting setting_;
  const std::optional<Broken> broken_;
  const BadReads bad_reads_;
  std::optional<Duration> healed_;
  JumpingClock clock_;
  OpenedStore opened_;
  store::Store* inner_ = nullptr;
  std::unique_ptr<store::fault::Store> store_;
  store::PoolInfo pool_;
  runtime::GraphCatalog graphs_;
  std::vector<core::GraphRef> refs_;
  std::set<std::string> topics_;
  std::deque<core::WorkItem> work_;
  std::set<std::uint64_t> cancelled_;
  std::map<core::Guid, std::uint32_t> requests_;  // which request of its topic
  std::map<std::string, std::uint32_t> seen_;
  std::map<runtime::Ticket, std::function<void()>> asked_;
  runtime::Ticket ticket_ = 0;
  Duration ask_at_{0};
  std::uint64_t guid_ = 0;
  std::uint64_t life_ = 0;
  std::uint64_t skipped_ = 0;
  std::size_t next_signal_ = 0;
  std::uint32_t signalled_ = 0;
  bool interrupted_ = false;
  std::vector<std::string> problems_;
  Played played_;
  std::unique_ptr<runtime::Engine> engine_;
};

}  // namespace

std::string_view name_of(Break what) {
  switch (what) {
    case Break::crash_before:
      return "crash before";
    case Break::crash_after:
      return "crash after";
    case Break::refused:
      return "refused";
    case Break::reply_lost:
      return "reply lost";
    case Break::cut_midway:
      return "cut midway";
    case Break::fenced:
      return "fenced";
    case Break::repeated:
      return "repeated";
  }
  return "?";
}

Played play(const Case& one, const Setting& setting, std::optional<Broken> broken, BadReads bad_reads) {
  return Player(one, setting, broken, bad_reads).play();
}

}  // namespace pawl::graphs
