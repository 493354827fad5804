#include "store/redis/store.h"

#include "base/limits.h"
#include "base/entropy.h"
#include "base/format.h"
#include "store/redis/committer.h"
#include "store/redis/doorbell.h"
#include "store/redis/duplex.h"
#include "store/redis/layout.h"
#include "store/redis/reader.h"
#include "store/redis/rights.h"
#include "store/redis/server_clock.h"
#include "store/redis/transfer_site.h"

namespace pawl::store::redis {

class Store::Parts {
 public:
  Parts(Url url, ConnectionOptions connection, const Options& asked)
      : options(asked), keys(asked.prefix), servers(std::move(url), std::move(connection), asked.connections + 2) {}

  // Creates the parts that need the store's id.
  void begin(core::Guid store, std::string sender) {
    id = store;
    committer = std::make_unique<Committer>(servers, keys, store, options.clock, clock.get(), sender);
    reader = std::make_unique<Reader>(servers, keys, *committer);
    duplex = std::make_unique<DuplexStore>(servers, keys, *committer, options.clock, [this] { return now(); });
    doorbell = std::make_unique<Doorbell>(servers, keys.bell(), std::move(sender),
                                          [this](core::LaneId lane) { return committer->holds(lane); });
  }

  Instant now() const { return clock ? clock->now() : options.clock->now(); }

  const Options options;
  const Keys keys;
  Servers servers;
  std::vector<Weakness> weaknesses;
  core::Guid id;
  std::unique_ptr<ServerClock> clock;  // none: the injected one
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<DuplexStore> duplex;
  std::unique_ptr<Doorbell> doorbell;
};

namespace {

std::string described(const std::vector<Weakness>& weaknesses) {
  std::string text;
  for (const Weakness& one : weaknesses) text += format("{}{}: {}", text.empty() ? "" : "; ", one.node, one.what);
  return text;
}

// The id that the server has; if it has none, `drawn` is stored.
Result<core::Guid> agree_on_id(Servers& servers, const Keys& keys, const core::Guid& drawn) {
  const std::string key = keys.of_catalogue("store");
  Commands commands;
  commands.add({"HSETNX", key, "id", drawn.text()});
  const auto made = servers.ask(catalogue_tag, commands);
  if (!made) return Error{ErrorCode::retry_later, made.error().detail};
  if (made->front().is_error())
    return Error{ErrorCode::unsupported, format("the store cannot be made: {}", made->front().text)};
  commands.clear();
  commands.add({"HGET", key, "id"});
  const auto stored = servers.ask(catalogue_tag, commands);
  if (!stored) return Error{ErrorCode::retry_later, stored.error().detail};
  const auto id = core::Guid::parse(stored->front().text);
  if (!id) return malformed("the id of the store");
  return *id;
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& url, const Options& options) {
  auto parsed = Url::parse(url);
  if (!parsed) return parsed.error();
  ConnectionOptions connection;
  connection.tls = parsed->tls;
  connection.tls_options = options.tls;
  connection.user = parsed->user;
  connection.password = parsed->password;
  connection.database = parsed->database;
  connection.connect_timeout = options.connect_timeout;
  connection.reply_timeout = options.reply_timeout;
  auto parts = std::make_unique<Parts>(std::move(*parsed), std::move(connection), options);
  if (const auto opened = parts->servers.open(); !opened) return opened.error();
  auto weaknesses = look_at_health(parts->servers);
  if (!weaknesses) return weaknesses.error();
  if (options.on_weakness)
    for (const Weakness& one : *weaknesses) options.on_weakness(one);
  if (!weaknesses->empty() && !options.accept_weaker)
    return Error{ErrorCode::unsupported,
                 format("the Redis store would promise less than it should: {}. Change that, or accept it explicitly",
                        described(*weaknesses))};
  parts->weaknesses = std::move(*weaknesses);
  const auto scripts = check_rights(parts->servers, parts->keys);
  if (!scripts) return scripts.error();
  if (!*scripts) {
    parts->weaknesses.push_back({parts->servers.url().shown(),
                                 "it has no scripts, or this user may run none: only graphs of collation "
                                 "duplex can run there"});
    if (options.on_weakness) options.on_weakness(parts->weaknesses.back());
  }
  const auto drawn = draw_entropy();
  const auto name = draw_entropy();
  if (!drawn) return drawn.error();
  if (!name) return name.error();
  if (const auto known = check_layout(parts->servers, parts->keys); !known) return known.error();
  if (!options.despite_moves)
    if (const auto whole = check_mark(parts->servers, parts->keys); !whole) return whole.error();
  const auto id = agree_on_id(parts->servers, parts->keys, core::Guid{drawn->high, drawn->low});
  if (!id) return id.error();
  if (const auto joined = join_layout(parts->servers, parts->keys); !joined) return joined.error();
  if (options.clock == nullptr) {
    parts->clock = std::make_unique<ServerClock>(parts->servers);
    if (const auto set = parts->clock->set(); !set) return set.error();
  }
  parts->begin(*id, core::Guid{name->high, name->low}.text());
  if (!*scripts) parts->committer->do_without_scripts();
  return std::unique_ptr<Store>(new Store(std::move(parts)));
}

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Store::~Store() = default;

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) {
  return parts_->committer->commit(group);
}
core::Guid Store::id() const { return parts_->id; }
Instant Store::now() const { return parts_->now(); }
pawl::store::DuplexStore& Store::duplex() { return *parts_->duplex; }
std::uint32_t Store::usual_lanes() const {
  return parts_->servers.is_cluster() ? pawl::limits::server_lanes : limits::lanes_of_one_server;
}
std::size_t Store::connections() const { return parts_->options.connections; }

Result<std::optional<PoolInfo>> Store::read_pool(const Pool& pool) { return parts_->reader->read_pool(pool); }
Result<LaneInfo> Store::read_lane(core::LaneId lane) { return parts_->reader->read_lane(lane); }
Result<std::optional<RunId>> Store::find_run(const Namespace& name_space, const JobId& id) {
  return parts_->reader->find_run(name_space, id);
}
Result<std::optional<StoredJob>> Store::read_job(RunId run) { return parts_->reader->read_job(run); }
Result<std::optional<core::JobRow>> Store::read_job_row(RunId run) { return parts_->reader->read_job_row(run); }
Result<std::optional<RunId>> Store::find_mailbox(const core::MailboxKey& key) {
  return parts_->reader->find_mailbox(key);
}
Result<std::optional<StoredMailbox>> Store::read_mailbox(RunId run) { return parts_->reader->read_mailbox(run); }
Result<std::optional<MailboxPage>> Store::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  return parts_->reader->read_mailbox_page(run, size, now);
}
Result<std::vector<Waiting>> Store::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  return parts_->reader->read_waiting(lane, after, rows_max);
}
Result<Page<WorkPlace>> Store::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->reader->read_work_places(lane, after, rows_max);
}
Result<Page<core::WorkItem>> Store::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->reader->read_work(lane, after, rows_max);
}
Result<Page<OutboxRow>> Store::read_outbox(core::LaneId lane, std::size_t rows_max) {
  return parts_->reader->read_outbox(lane, rows_max);
}
Result<Page<Due>> Store::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  return parts_->reader->read_due(lane, after, rows_max);
}
Result<std::optional<core::InboxMessage>> Store::read_message(RunId run, const core::Guid& guid) {
  return parts_->reader->read_message(run, guid);
}
Result<std::vector<Topic>> Store::read_paused_topics() { return parts_->reader->read_paused_topics(); }
Result<std::vector<LaneEnd>> Store::read_lane_ends() { return parts_->reader->read_lane_ends(); }
Result<std::vector<core::JobRow>> Store::list_jobs(const ListQuery& query) { return parts_->reader->list_jobs(query); }
Result<std::vector<JobCount>> Store::count_jobs() { return parts_->reader->count_jobs(); }
Result<std::vector<TopicWork>> Store::count_work(Instant now) { return parts_->reader->count_work(now); }
Result<std::vector<EngineInfo>> Store::read_engines(const Pool& pool, Instant now) {
  return parts_->reader->read_engines(pool, now);
}
Result<std::vector<MailboxInfo>> Store::list_mailboxes(const MailboxQuery& query) {
  return parts_->reader->list_mailboxes(query);
}
Result<std::optional<KeptSignals>> Store::read_kept(const KeptQuery& query) { return parts_->reader->read_kept(query); }
Result<std::vector<MeasureRow>> Store::read_measures(const MeasureQuery& query) {
  return parts_->reader->read_measures(query);
}
Result<std::vector<AnnouncementRow>> Store::read_announcements(const AnnouncementQuery& query) {
  return parts_->reader->read_announcements(query);
}
Result<std::optional<std::string>> Store::read_app(const Namespace& name_space, const std::string& app,
                                                   const std::string& version) {
  return parts_->reader->read_app(name_space, app, version);
}
Result<std::vector<AppInfo>> Store::list_apps(const Namespace& name_space) {
  return parts_->reader->list_apps(name_space);
}
std::vector<ReadAnswer> Store::read(std::span<const Read> reads) { return parts_->reader->read(*this, reads); }

void Store::listen(Listener& listener) { parts_->doorbell->listen(listener); }
void Store::stop_listening(Listener& listener) { parts_->doorbell->stop_listening(listener); }
void Store::ring(core::LaneId lane, const Change& change) { parts_->doorbell->ring(lane, change); }

const std::vector<Weakness>& Store::weaknesses() const { return parts_->weaknesses; }
Stats Store::stats() const {
  return {parts_->servers.round_trips(), parts_->committer->groups(), parts_->committer->operations()};
}

}  // namespace pawl::store::redis
