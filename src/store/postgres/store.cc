#include "store/postgres/store.h"

#include <atomic>
#include <map>
#include <random>

#include "store/postgres/bell.h"
#include "store/postgres/connections.h"
#include "store/postgres/duplex_writer.h"
#include "store/postgres/open.h"
#include "store/postgres/own_lanes.h"
#include "store/postgres/reader.h"
#include "store/postgres/schema.h"
#include "store/postgres/server_clock.h"
#include "store/postgres/tail.h"
#include "store/postgres/transfer_mark.h"
#include "store/postgres/user_transaction.h"
#include "store/postgres/writer.h"

namespace pawl::store::postgres {

class Store::Parts {
 public:
  Parts(const Address& address, const Options& given, std::uint64_t process)
      : options(given),
        clock(given.clock),
        tail(std::max<std::size_t>(given.connections, 1)),
        writers(address, std::max<std::size_t>(given.connections, 1), [this](Connection& one) { return admit(one); }),
        readers(address, std::max<std::size_t>(given.readers, 1), [this](Connection& one) { return admit(one); }),
        bell(address, process) {}

  const Options options;
  core::Guid id;
  std::vector<std::string> weaknesses;
  ServerClock clock;
  Tail tail;
  Connections writers;
  Connections readers;
  OwnLanes own;
  KnownNumbers numbers;
  Bell bell;
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> operations{0};

  // Checks a new session: it joins the layout, so that other programs see its use, and the server must have everything
  // that it acknowledged.
  Status admit(Connection& connection) {
    if (const auto joined = join_layout(connection, options.schema, options.steps); !joined) return joined;
    return tail.admit(connection);
  }
  // Returns a free connection, unless this store must not be used any more.
  Result<Connections::Lease> take(Connections& from) {
    if (const auto whole = tail.check(); !whole) return whole.error();
    return from.take();
  }
  // Calls `read` with a reader over a free connection.
  template <class Read>
  auto ask(const Read& read) -> decltype(read(std::declval<Reader&>())) {
    auto connection = take(readers);
    if (!connection) return connection.error();
    Reader reader(**connection);
    return read(reader);
  }
};

class Store::Duplex final : public DuplexStore {
 public:
  explicit Duplex(Parts& parts) : parts_(parts) {}

  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) override {
    auto connection = parts_.take(parts_.writers);
    if (!connection) return connection.error();
    return DuplexWriter(**connection, {parts_.clock, parts_.bell, parts_.tail}).commit(operations);
  }
  Instant now() const override { return parts_.clock.now(); }
  Result<std::optional<DuplexJob>> read(RunId run) override {
    return parts_.ask([&](Reader& reader) { return reader.read_duplex(run); });
  }
  Result<std::optional<DuplexJob>> read_under_way(RunId run) override {
    return parts_.ask([&](Reader& reader) { return reader.read_duplex_under_way(run); });
  }
  Result<std::optional<DuplexView>> view(RunId run, const Place& place) override {
    return parts_.ask([&](Reader& reader) { return reader.view_duplex(run, place); });
  }

 private:
  Parts& parts_;
};

namespace {

// A number that no other process has. The receiver of a notification uses it to recognize its own.
std::uint64_t draw_process_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)), duplex_(std::make_unique<Duplex>(*parts_)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& address, const Options& options) {
  if (const auto named = check_schema_name(options.schema); !named) return named.error();
  const Address place{address, options.schema, options.statement_wait, options.lock_wait, options.transaction_idle_max};
  auto connection = Connection::open(place);
  if (!connection) return connection.error();
  if (const auto kept = check_session(**connection, place); !kept) return kept.error();
  auto fit = check_server(**connection, options.durability);
  if (!fit) return fit.error();
  if (options.migrate == Migrate::yes) {
    const auto migrated = migrate(**connection, options.schema, options.steps);
    if (!migrated) return migrated.error();
  }
  if (!options.despite_moves)
    if (const auto whole = check_mark(**connection, options.schema); !whole) return whole.error();
  auto parts = std::make_unique<Parts>(place, options, draw_process_number());
  if (const auto admitted = parts->admit(**connection); !admitted) return admitted.error();
  const auto id = read_store_id(**connection);
  if (!id) return id.error();
  parts->id = *id;
  parts->weaknesses = std::move(*fit);
  for (int i = 0; i < ServerTime::first_questions; ++i) {
    Script script;
    const auto clock_at = parts->clock.ask(script);
    Done done = (*connection)->run(script);
    if (!done) return error_of(done.failure());
    parts->clock.take(done, clock_at);
  }
  parts->writers.add(std::move(*connection));
  return std::unique_ptr<Store>(new Store(std::move(parts)));
}

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) {
  auto connection = parts_->take(parts_->writers);
  if (!connection) return connection.error();
  Writer writer(**connection, {parts_->clock, parts_->own, parts_->numbers, parts_->bell, parts_->tail,
                               parts_->options.sends_directly, parts_->options.transaction_idle_max});
  auto outcomes = writer.commit(group);
  if (outcomes) {
    ++parts_->commits;
    parts_->operations += group.size();
  }
  return outcomes;
}

core::Guid Store::id() const { return parts_->id; }
Instant Store::now() const { return parts_->clock.now(); }
bool Store::sends_directly() const { return parts_->options.sends_directly; }
std::size_t Store::connections() const { return parts_->options.connections; }
DuplexStore& Store::duplex() { return *duplex_; }
void Store::on_problem(std::function<void(const std::string&)> report) { parts_->tail.on_loss(std::move(report)); }
const std::vector<std::string>& Store::weaknesses() const { return parts_->weaknesses; }
std::shared_ptr<TransactionStore> Store::transactions(Duration time) {
  return std::make_shared<Transactions>(
      parts_->writers.address(), time,
      Writer::Parts{parts_->clock, parts_->own, parts_->numbers, parts_->bell, parts_->tail,
                    parts_->options.sends_directly, parts_->options.transaction_idle_max});
}
void Store::listen(Listener& listener) { parts_->bell.listen(listener); }
void Store::stop_listening(Listener& listener) { parts_->bell.stop_listening(listener); }

Stats Store::stats() const {
  Stats stats{parts_->commits, parts_->operations, 0, 0};
  for (const Connections* all : {&parts_->writers, &parts_->readers}) {
    const Tally tally = all->tally();
    stats.round_trips += tally.round_trips;
    stats.statements += tally.statements;
  }
  return stats;
}

// Whole jobs are read many at a time; the other reads have pages.
std::vector<ReadAnswer> Store::read(std::span<const Read> reads) {
  std::vector<ReadAnswer> answers;
  answers.reserve(reads.size());
  std::map<RunId, Result<std::optional<StoredJob>>> jobs;
  const auto read_jobs_from = [&](std::size_t first) {
    std::vector<RunId> runs;
    for (std::size_t i = first; i < reads.size() && runs.size() < limits::jobs_per_read; ++i)
      if (const auto* one = std::get_if<ReadJob>(&reads[i])) runs.push_back(one->run);
    jobs.clear();
    auto connection = parts_->take(parts_->readers);
    if (!connection) {
      for (const RunId run : runs) jobs.emplace(run, connection.error());
      return;
    }
    auto found = Reader(**connection).read_jobs(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) jobs.emplace(runs[i], std::move(found[i]));
  };
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < reads.size() && bytes < pawl::limits::read_answers_bytes; ++i) {
    const auto* job = std::get_if<ReadJob>(&reads[i]);
    if (job == nullptr) {
      answers.push_back(std::visit(
          [&]<class One>(const One& one) -> ReadAnswer { return Answered<One>{answer_to(*this, one)}; }, reads[i]));
      continue;
    }
    if (!jobs.contains(job->run)) read_jobs_from(i);
    const auto& found = jobs.at(job->run);
    if (found && *found) bytes += (*found)->state.bytes();
    answers.emplace_back(Answered<ReadJob>{found});
  }
  return answers;
}

Result<std::optional<StoredJob>> Store::read_job(RunId run) {
  return parts_->ask([&](Reader& reader) { return std::move(reader.read_jobs({&run, 1}).front()); });
}
Result<std::optional<PoolInfo>> Store::read_pool(const Pool& pool) {
  return parts_->ask([&](Reader& reader) { return reader.read_pool(pool); });
}
Result<LaneInfo> Store::read_lane(core::LaneId lane) {
  return parts_->ask([&](Reader& reader) { return reader.read_lane(lane); });
}
Result<std::optional<RunId>> Store::find_run(const Namespace& name_space, const JobId& id) {
  return parts_->ask([&](Reader& reader) { return reader.find_run(name_space, id); });
}
Result<std::optional<core::JobRow>> Store::read_job_row(RunId run) {
  return parts_->ask([&](Reader& reader) { return reader.read_job_row(run); });
}
Result<std::optional<RunId>> Store::find_mailbox(const core::MailboxKey& key) {
  return parts_->ask([&](Reader& reader) { return reader.find_mailbox(key); });
}
Result<std::optional<StoredMailbox>> Store::read_mailbox(RunId run) {
  return parts_->ask([&](Reader& reader) { return reader.read_mailbox(run); });
}
Result<std::optional<MailboxPage>> Store::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  return parts_->ask([&](Reader& reader) { return reader.read_mailbox_page(run, size, now); });
}
Result<std::vector<Waiting>> Store::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  return parts_->ask([&](Reader& reader) { return reader.read_waiting(lane, after, rows_max); });
}
Result<Page<WorkPlace>> Store::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->ask([&](Reader& reader) { return reader.read_work_places(lane, after, rows_max); });
}
Result<Page<core::WorkItem>> Store::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->ask([&](Reader& reader) { return reader.read_work(lane, after, rows_max); });
}
Result<Page<OutboxRow>> Store::read_outbox(core::LaneId lane, std::size_t rows_max) {
  return parts_->ask([&](Reader& reader) { return reader.read_outbox(lane, rows_max); });
}
Result<Page<Due>> Store::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  return parts_->ask([&](Reader& reader) { return reader.read_due(lane, after, rows_max); });
}
Result<std::optional<core::InboxMessage>> Store::read_message(RunId run, const core::Guid& guid) {
  return parts_->ask([&](Reader& reader) { return reader.read_message(run, guid); });
}
Result<std::vector<Topic>> Store::read_paused_topics() {
  return parts_->ask([&](Reader& reader) { return reader.read_paused_topics(); });
}
Result<std::vector<LaneEnd>> Store::read_lane_ends() {
  return parts_->ask([&](Reader& reader) { return reader.read_lane_ends(); });
}
Result<std::vector<core::JobRow>> Store::list_jobs(const ListQuery& query) {
  return parts_->ask([&](Reader& reader) { return reader.list_jobs(query); });
}
Result<std::vector<JobCount>> Store::count_jobs() {
  return parts_->ask([&](Reader& reader) { return reader.count_jobs(); });
}
Result<std::vector<TopicWork>> Store::count_work(Instant now) {
  return parts_->ask([&](Reader& reader) { return reader.count_work(now); });
}
Result<std::vector<EngineInfo>> Store::read_engines(const Pool& pool, Instant now) {
  return parts_->ask([&](Reader& reader) { return reader.read_engines(pool, now); });
}
Result<std::vector<MailboxInfo>> Store::list_mailboxes(const MailboxQuery& query) {
  return parts_->ask([&](Reader& reader) { return reader.list_mailboxes(query); });
}
Result<std::optional<KeptSignals>> Store::read_kept(const KeptQuery& query) {
  return parts_->ask([&](Reader& reader) { return reader.read_kept(query); });
}
Result<std::vector<MeasureRow>> Store::read_measures(const MeasureQuery& query) {
  return parts_->ask([&](Reader& reader) { return reader.read_measures(query); });
}
Result<std::vector<AnnouncementRow>> Store::read_announcements(const AnnouncementQuery& query) {
  return parts_->ask([&](Reader& reader) { return reader.read_announcements(query); });
}
Result<std::optional<std::string>> Store::read_app(const Namespace& name_space, const std::string& app,
                                                   const std::string& version) {
  return parts_->ask([&](Reader& reader) { return reader.read_app(name_space, app, version); });
}
Result<std::vector<AppInfo>> Store::list_apps(const Namespace& name_space) {
  return parts_->ask([&](Reader& reader) { return reader.list_apps(name_space); });
}

}  // namespace pawl::store::postgres
