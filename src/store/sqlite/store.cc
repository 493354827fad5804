#include "store/sqlite/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/format.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/doorbell.h"
#include "store/sqlite/file_hold.h"
#include "store/sqlite/open.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/owner_record.h"
#include "store/sqlite/owner_watch.h"
#include "store/sqlite/packed.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/transfer_mark.h"
#include "store/sqlite/user_transaction.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

Status sync_file(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  for (const std::string& one : {path, folder.empty() ? std::string(".") : folder}) {
    const int file = ::open(one.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    const std::string why = synced ? "" : std::strerror(errno);
    if (file >= 0) ::close(file);
    if (!synced) return Error{ErrorCode::retry_later, format("{} cannot be written to the disk: {}", one, why)};
  }
  return {};
}

constexpr int log_frame_head_bytes = 24;

[[noreturn]] void print_and_abort(const std::string& message) {
  std::fputs((message + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace

class Store::Parts final : public TransactionHost {
 public:
  static Result<std::unique_ptr<Parts>> open(const std::string& path, const Options& options) {
    auto first = open_file(path, options, migrations());
    if (!first) return first.error();
    if (!options.despite_moves)
      if (const auto whole = check_mark(**first); !whole) return whole.error();
    auto hold = FileHold::take((*first)->path(), options.busy_wait);
    if (!hold) return hold.error();
    std::unique_ptr<Parts> parts(new Parts((*first)->path(), options));
    parts->hold_ = std::move(*hold);
    for (auto& reader : parts->readers_) {
      auto connection = open_again(**first, options, Role::reader);
      if (!connection) return connection.error();
      auto opened = Reader::open(std::move(*connection));
      if (!opened) return opened.error();
      reader = std::move(*opened);
    }
    const auto id = parts->readers_.front()->read_store_id();
    if (!id) return id.error();
    parts->id_ = *id;
    auto copier = open_again(**first, options, Role::checkpointer);
    if (!copier) return copier.error();
    auto writer = Writer::open(std::move(*first), parts->clock(), parts->lock_);
    if (!writer) return writer.error();
    parts->writer_ = std::move(*writer);
    if (!options.sends_directly) parts->writer_->send_by_outbox();
    parts->writer_->limit(PayloadLimits{options.payload_in_row_bytes});
    parts->writer_->limit(PackLimits{options.compress_payloads, options.compress_all});
    parts->writer_->keep_unlisted(options.unlisted_rows_max);
    const auto bytes = parts->writer_->connection().read_number("PRAGMA page_size");
    if (!bytes) return bytes.error();
    parts->frame_bytes_ = static_cast<std::uint64_t>(*bytes) + log_frame_head_bytes;
    Parts* self = parts.get();
    sqlite3_wal_hook(parts->writer_->connection().handle(), note_log, self);
    Checkpointer::Setup copies;
    copies.pages = options.checkpoint_pages;
    copies.frame_bytes = parts->frame_bytes_;
    copies.log_bytes_max = options.log_bytes_max;
    copies.writer = &parts->writer_turn_;
    // Only when the owner's record is on the disk: a process that opens the file at that moment can tell from the
    // record that nothing is missing.
    copies.mark = [self](bool on) {
      if (!self->lock_.owned()) return SQLITE_BUSY;
      const int synced = on ? self->sync_record() : SQLITE_OK;
      return synced == SQLITE_OK ? self->writer_->mark_home(on) : synced;
    };
    copies.on_sync_failed = [self](int code) { self->die_of_sync(code); };
    copies.on_problem = [self](const std::string& text) { self->report(text); };
    copies.make_helpers = [self] { return self->make_helpers(); };
    parts->checkpointer_ = std::make_unique<Checkpointer>(std::move(*copier), std::move(copies));
    return parts;
  }

  ~Parts() {
    transactions_->close();
    if (checkpointer_) checkpointer_->stop();  // it may be creating the next ones
    owner_watch_.reset();
    checkpointer_.reset();
    doorbell_.reset();
    hold_.let_go();
  }

  template <class Any>
  auto commit(std::span<const Any> group) -> decltype(std::declval<Writer&>().commit(group)) {
    const auto ready = ready_to_write();
    if (!ready) return ready.error();
    auto outcomes = [&] {
      const std::lock_guard lock(writer_turn_);
      const std::int64_t rows_before = writer_->row_writes();
      auto done = writer_->commit(group);
      note_commit(writer_->row_writes() - rows_before);
      return done;
    }();
    return settle(group, *writer_, std::move(outcomes));
  }

  // What follows a commit by either writer.
  template <class Any, class Answers>
  Result<Answers> settle(std::span<const Any> group, Writer& writer, Result<Answers> outcomes) {
    const std::int64_t number = writer.last_commit();
    if (writer.sync_failure() != SQLITE_OK) die_of_sync(writer.sync_failure());
    if (!outcomes) {
      if (writer.disk_full()) checkpointer_->copy_now(Checkpointer::Space::give_back);
      return outcomes;
    }
    if (const auto kept = still_in_place(); !kept) return kept.error();
    commits_.fetch_add(1, std::memory_order_relaxed);
    operations_.fetch_add(group.size(), std::memory_order_relaxed);
    if (lock_.owned()) {
      write_record(number);
      if (!std::exchange(marked_, true)) checkpointer_->copy_now(Checkpointer::Space::keep);
      listen(number);  // now at the latest: a failed group may have been the one that took ownership
    } else {
      if (options_.rings) ringer_.ring(number, change_of(group, *outcomes));
      watch_owner();
    }
    return outcomes;
  }

  // --- transactions of workers
  std::shared_ptr<Transactions> transactions() { return transactions_; }
  Result<std::unique_ptr<UserSession>> open_session() override {
    auto connection = open_again(writer_->connection(), options_, Role::worker);
    if (!connection) return connection.error();
    sqlite3_wal_hook((*connection)->handle(), note_log, this);
    auto writer = Writer::open(std::move(*connection), clock(), lock_);
    if (!writer) return writer.error();
    if (!options_.sends_directly) (*writer)->send_by_outbox();
    (*writer)->limit(PayloadLimits{options_.payload_in_row_bytes});
    (*writer)->limit(PackLimits{options_.compress_payloads, options_.compress_all});
    (*writer)->keep_unlisted(options_.unlisted_rows_max);
    if (own_names_ == nullptr) {
      auto names = OwnNames::read();
      if (!names) return names.error();
      own_names_ = std::move(*names);
    }
    return std::make_unique<UserSession>(std::move(*writer), own_names_);
  }
  Status take_writer() override {
    const auto ready = ready_to_write();
    if (ready) writer_turn_.lock();
    return ready;
  }
  void give_writer() override {
    note_commit(0);
    writer_turn_.unlock();
  }
  Result<Outcome> settle(const Operation& operation, Writer& writer, Result<Outcome> outcome) override {
    Result<std::vector<Outcome>> outcomes = std::vector<Outcome>();
    if (outcome)
      outcomes->push_back(std::move(*outcome));
    else
      outcomes = outcome.error();
    auto settled = settle(std::span(&operation, 1), writer, std::move(outcomes));
    if (!settled) return settled.error();
    return std::move(settled->front());
  }

  Result<bool> try_own() {
    const auto owned = lock_.try_own();
    if (owned && *owned) listen(last_commit().value_or(0));
    return owned;
  }

  void listen_for(Listener* listener) {
    const std::lock_guard lock(listener_mutex_);
    listener_ = listener;
    listens_ = listens_ || listener != nullptr;
  }
  void on_problem(std::function<void(const std::string&)> report) {
    const std::lock_guard lock(report_mutex_);
    report_ = std::move(report);
  }

  // A free reader, or the first one that becomes free.
  template <class Read>
  auto with_reader(Read read) {
    for (auto& reader : readers_) {
      std::unique_lock lock(reader->mutex(), std::try_to_lock);
      if (lock.owns_lock()) return checked(*reader, read);
    }
    const std::size_t turn = turn_.fetch_add(1, std::memory_order_relaxed) % readers_.size();
    const std::lock_guard lock(readers_[turn]->mutex());
    return checked(*readers_[turn], read);
  }

  const core::Guid& id() const { return id_; }
  bool sends_directly() const { return writer_->sends_directly(); }
  const Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock_; }

  Stats stats() const {
    return Stats{commits_.load(std::memory_order_relaxed), operations_.load(std::memory_order_relaxed),
                 row_writes_.load(std::memory_order_relaxed), log_bytes_.load(std::memory_order_relaxed),
                 checkpointer_->count()};
  }

 private:
  Parts(const std::string& path, const Options& options) : options_(options), lock_(path), ringer_(path), path_(path) {}

  template <class Read>
  static auto checked(Reader& reader, const Read& read) -> decltype(read(reader)) {
    auto answer = read(reader);
    if (auto same = reader.check_layout(); !same) return same.error();
    return answer;
  }
  static Change change_of(std::span<const Operation> group, std::span<const Outcome> outcomes) {
    return changed_by(group, outcomes);
  }
  static Change change_of(std::span<const DuplexOperation>, std::span<const DuplexOutcome> outcomes) {
    return changed_by(outcomes);
  }

  // REQUIRES: it is this thread's turn to write.
  void note_commit(std::int64_t row_writes) {
    row_writes_.fetch_add(static_cast<std::uint64_t>(row_writes), std::memory_order_relaxed);
    checkpointer_->note_log_pages(log_pages_);
  }

  // Called by SQLite after each commit with the length of the log.
  static int note_log(void* self, sqlite3*, const char*, int pages) {
    auto& parts = *static_cast<Parts*>(self);
    const int grown = pages >= parts.log_pages_ ? pages - parts.log_pages_ : pages;
    parts.log_pages_ = pages;
    parts.log_bytes_.fetch_add(static_cast<std::uint64_t>(grown) * parts.frame_bytes_, std::memory_order_relaxed);
    return SQLITE_OK;
  }

  std::optional<std::int64_t> last_commit() {
    const auto read = with_reader([](Reader& reader) { return reader.read_last_commit(); });
    return read ? std::optional(*read) : std::nullopt;
  }

  // `commit`: the last commit that this process knows, usually its own. False: there is no doorbell yet.
  bool listen(std::int64_t commit) {
    const std::lock_guard lock(doorbell_mutex_);
    if (doorbell_) doorbell_->committed(commit);
    if (!listens_ || doorbell_) return true;
    auto bell = Doorbell::listen(
        {path_, commit, [this](const Change& change) { tell_rung(change); }, [this] { return last_commit(); }});
    if (!bell) {
      make_later(bell.error(), bell_missing_, "other processes are not heard");
      return false;
    }
    doorbell_ = std::move(*bell);
    if (std::exchange(bell_missing_, false)) tell_rung(Change::everything());  // notifications were missed meanwhile
    return true;
  }

  void tell_rung(const Change& change) {
    const std::lock_guard lock(listener_mutex_);
    if (listener_ != nullptr) listener_->rung(change);
  }
  void tell_gone() {
    const std::lock_guard lock(listener_mutex_);
    if (listener_ != nullptr) listener_->owner_gone();
  }

  // False: the end of the owner would not be noticed yet.
  bool watch_owner() {
    const std::lock_guard lock(watch_mutex_);
    if (!listens_ || owner_watch_) return true;
    auto watch = OwnerWatch::start({lock_.path(), [this] { return try_own(); }, [this] { tell_gone(); }});
    if (!watch) {
      make_later(watch.error(), watch_missing_, "the end of the process that owns the lanes is not heard");
      return false;
    }
    owner_watch_ = std::move(*watch);
    watch_missing_ = false;
    return true;
  }

  // A thread or a descriptor is missing. Commits try again and, while there are none, the checkpointer's thread.
  void make_later(const Error& error, bool& missing, const char* meanwhile) {
    if (!std::exchange(missing, true))
      report(format("{}; {} until then: raise the system's limit on threads, descriptors and memory", error.detail,
                    meanwhile));
    checkpointer_->keep_trying();
  }

  bool make_helpers() { return lock_.owned() ? listen(last_commit().value_or(0)) : watch_owner(); }

  // Nothing begins on a file that is not in its place, or whose log must not grow.
  Status ready_to_write() {
    if (dead_) return Error{ErrorCode::retry_later, format("{} takes no more writes", path_)};
    if (displaced_) {
      const FileHold::Place place = hold_.look();
      if (place != FileHold::Place::here) return Error{ErrorCode::retry_later, hold_.say(place)};
      displaced_ = false;
    }
    return checkpointer_->room();
  }

  // Nothing is acknowledged that is not where the next process will look for it.
  Status still_in_place() {
    const FileHold::Place place = hold_.look();
    if (place == FileHold::Place::here) return {};
    displaced_ = true;
    if (place == FileHold::Place::two_names) return {};  // it is there; the next group has to wait
    const std::string what = hold_.say(place);
    if (place == FileHold::Place::removed || place == FileHold::Place::log_lost) {
      // Only this process can still copy a log that has no name any more.
      if (place == FileHold::Place::log_lost && hold_.log_deleted()) {
        const std::lock_guard lock(writer_turn_);
        static_cast<void>(sqlite3_wal_checkpoint_v2(writer_->connection().handle(), nullptr, SQLITE_CHECKPOINT_FULL,
                                                    nullptr, nullptr));
      }
      die(format("pawl: {}; this process ends", what));
    }
    return Error{ErrorCode::outcome_unknown, what};
  }

  // Only with full syncs does an acknowledged commit survive a power loss; otherwise the record claims nothing.
  void write_record(std::int64_t number) {
    const bool full = options_.durability == Durability::full;
    lock_.write(OwnerRecord{static_cast<std::uint64_t>(getpid()), hold_.id(), id_,
                            full ? static_cast<std::uint64_t>(number) : 0});
  }

  int sync_record() {
    if (options_.durability != Durability::full) return SQLITE_OK;
    return OwnerRecord::sync(lock_.path(), options_.vfs);
  }

  void report(const std::string& text) {
    const std::lock_guard lock(report_mutex_);
    if (report_) report_(text);
  }

  void die_of_sync(int code) {
    die(
        format("pawl: a sync of {} failed ({}): what was written may be lost, so this process ends;"
               " check the disk, then start it again",
               path_, describe(code)));
  }

  void die(const std::string& message) {
    dead_ = true;
    if (options_.on_fatal)
      options_.on_fatal(message);
    else
      print_and_abort(message);
  }

  // Constant after open().
  const Options options_;
  const SystemClock system_clock_;
  OwnerLock lock_;
  Ringer ringer_;
  const std::string path_;
  std::uint64_t frame_bytes_ = 0;
  core::Guid id_;
  std::mutex listener_mutex_;
  Listener* listener_ = nullptr;      // guarded by listener_mutex_
  std::atomic<bool> listens_{false};  // there is or was a listener
  FileHold hold_;                     // before the connections, so that it ends after them
  std::array<std::unique_ptr<Reader>, limits::readers> readers_;

  WriterTurn writer_turn_;          // a writer commits, or the checkpointer has paused the writers
  std::unique_ptr<Writer> writer_;  // guarded by writer_turn_
  int log_pages_ = 0;               // guarded by writer_turn_
  bool displaced_ = false;          // used by the committing thread, as is the next
  bool marked_ = false;             // the mark of the database file was requested
  std::atomic<bool> dead_{false};   // nothing is written any more

  const std::shared_ptr<Transactions> transactions_ = std::make_shared<Transactions>(*this);
  std::shared_ptr<const OwnNames> own_names_;  // used by the committing thread

  std::mutex report_mutex_;
  std::function<void(const std::string&)> report_;  // guarded by report_mutex_

  std::mutex doorbell_mutex_;
  std::unique_ptr<Doorbell> doorbell_;  // guarded by doorbell_mutex_, as is the next
  bool bell_missing_ = false;           // it could not be created, and this was reported
  std::mutex watch_mutex_;

  std::atomic<std::uint64_t> commits_{0}, operations_{0}, row_writes_{0}, log_bytes_{0};
  std::atomic<std::size_t> turn_{0};
  std::unique_ptr<Checkpointer> checkpointer_;  // its thread uses the writer's mutex
  bool watch_missing_ = false;                  // guarded by watch_mutex_, as is the next one
  std::unique_ptr<OwnerWatch> owner_watch_;     // last: its thread uses the lock and the doorbell
};

class Store::Duplex final : public DuplexStore {
 public:
  explicit Duplex(Parts& parts) : parts_(parts) {}
  Result<std::vector<DuplexOutcome>> commit(std::span<const DuplexOperation> operations) override {
    return parts_.commit(operations);
  }
  Instant now() const override { return parts_.clock().now(); }
  Result<std::optional<DuplexJob>> read(RunId run) override {
    return parts_.with_reader([&](Reader& reader) { return reader.read_duplex(run); });
  }
  Result<std::optional<DuplexJob>> read_under_way(RunId run) override {
    return parts_.with_reader([&](Reader& reader) { return reader.read_duplex_under_way(run); });
  }
  Result<std::optional<DuplexView>> view(RunId run, const Place& place) override {
    return parts_.with_reader([&](Reader& reader) { return reader.view_duplex(run, place); });
  }

 private:
  Parts& parts_;
};

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)), duplex_(std::make_unique<Duplex>(*parts_)) {}
Store::~Store() = default;
DuplexStore& Store::duplex() { return *duplex_; }
std::shared_ptr<TransactionStore> Store::transactions() { return parts_->transactions(); }

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const Options& options) {
  auto parts = Parts::open(path, options);
  if (!parts) return parts.error();
  return std::unique_ptr<Store>(new Store(std::move(*parts)));
}

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) { return parts_->commit(group); }
core::Guid Store::id() const { return parts_->id(); }
bool Store::sends_directly() const { return parts_->sends_directly(); }
Instant Store::now() const { return parts_->clock().now(); }
Result<bool> Store::try_own() { return parts_->try_own(); }
void Store::listen(Listener& listener) { parts_->listen_for(&listener); }
void Store::stop_listening(Listener&) { parts_->listen_for(nullptr); }
void Store::on_problem(std::function<void(const std::string&)> report) { parts_->on_problem(std::move(report)); }
Stats Store::stats() const { return parts_->stats(); }

Result<std::optional<PoolInfo>> Store::read_pool(const Pool& pool) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_pool(pool); });
}
Result<LaneInfo> Store::read_lane(core::LaneId lane) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_lane(lane); });
}
Result<std::optional<RunId>> Store::find_run(const Namespace& name_space, const JobId& id) {
  return parts_->with_reader([&](Reader& reader) { return reader.find_run(name_space, id); });
}
Result<std::optional<StoredJob>> Store::read_job(RunId run) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_job(run); });
}
Result<std::optional<core::JobRow>> Store::read_job_row(RunId run) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_job_row(run); });
}
Result<std::optional<RunId>> Store::find_mailbox(const core::MailboxKey& key) {
  return parts_->with_reader([&](Reader& reader) { return reader.find_mailbox(key); });
}
Result<std::optional<StoredMailbox>> Store::read_mailbox(RunId run) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_mailbox(run); });
}
Result<std::optional<MailboxPage>> Store::read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_mailbox_page(run, size, now); });
}
Result<std::vector<Waiting>> Store::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_waiting(lane, after, rows_max); });
}
Result<Page<WorkPlace>> Store::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_work_places(lane, after, rows_max); });
}
Result<Page<core::WorkItem>> Store::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_work(lane, after, rows_max); });
}
Result<Page<Due>> Store::read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_due(lane, after, rows_max); });
}
Result<std::optional<core::InboxMessage>> Store::read_message(RunId run, const core::Guid& guid) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_message(run, guid); });
}
Result<std::vector<Topic>> Store::read_paused_topics() {
  return parts_->with_reader([&](Reader& reader) { return reader.read_paused_topics(); });
}
Result<std::vector<LaneEnd>> Store::read_lane_ends() {
  return parts_->with_reader([&](Reader& reader) { return reader.read_lane_ends(); });
}
Result<std::vector<core::JobRow>> Store::list_jobs(const ListQuery& query) {
  return parts_->with_reader([&](Reader& reader) { return reader.list_jobs(query); });
}
Result<std::vector<JobCount>> Store::count_jobs() {
  return parts_->with_reader([&](Reader& reader) { return reader.count_jobs(); });
}
Result<std::vector<TopicWork>> Store::count_work(Instant now) {
  return parts_->with_reader([&](Reader& reader) { return reader.count_work(now); });
}
Result<std::vector<EngineInfo>> Store::read_engines(const Pool& pool, Instant now) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_engines(pool, now); });
}
Result<std::vector<MailboxInfo>> Store::list_mailboxes(const MailboxQuery& query) {
  return parts_->with_reader([&](Reader& reader) { return reader.list_mailboxes(query); });
}
Result<std::optional<KeptSignals>> Store::read_kept(const KeptQuery& query) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_kept(query); });
}
Result<std::vector<MeasureRow>> Store::read_measures(const MeasureQuery& query) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_measures(query); });
}
Result<std::vector<AnnouncementRow>> Store::read_announcements(const AnnouncementQuery& query) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_announcements(query); });
}

Result<std::optional<std::string>> Store::read_app(const Namespace& name_space, const std::string& app,
                                                   const std::string& version) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_app(name_space, app, version); });
}
Result<std::vector<AppInfo>> Store::list_apps(const Namespace& name_space) {
  return parts_->with_reader([&](Reader& reader) { return reader.list_apps(name_space); });
}

Result<Page<OutboxRow>> Store::read_outbox(core::LaneId lane, std::size_t rows_max) {
  return parts_->with_reader([&](Reader& reader) { return reader.read_outbox(lane, rows_max); });
}

Status Store::copy_to(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return Error{ErrorCode::already_exists, format("{} exists; a copy needs a name of its own", path)};
  return parts_->with_reader([&](Reader& reader) -> Status {
    std::string quoted;
    for (const char c : path) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    // Readers may not write; what is written here is another file.
    Connection& connection = reader.connection();
    const auto copied = connection.execute(format("PRAGMA query_only = OFF; VACUUM INTO '{}'", quoted).c_str());
    const auto again = connection.execute("PRAGMA query_only = ON");
    return !copied ? copied : !again ? again : sync_file(path);
  });
}

Status Store::verify() {
  return parts_->with_reader([](Reader& reader) -> Status {
    const auto found =
        reader.connection().read_text(format("PRAGMA integrity_check({})", limits::problems_max).c_str());
    if (!found) return found.error();
    if (*found == "ok") {
      if (auto work = reader.verify_work(); !work) return work;
      return check_packed(reader.connection());
    }
    return Error{ErrorCode::corrupt, format("{} is damaged; restore it from a backup, or recover what is readable with:"
                                            " sqlite3 FILE .recover\n{}",
                                            reader.connection().path(), *found)};
  });
}

}  // namespace pawl::store::sqlite
