#include "store/redis/transfer.h"

#include "base/format.h"
#include "store/redis/transfer_reader.h"
#include "store/redis/transfer_writer.h"

namespace pawl::store::redis {

namespace {

using transfer::Mark;

// Redis has no lock that ends with its holder. A store that is being moved has another id in all its lanes and in its
// catalogue: the scripts compare the id, and refuse processes that know the right one, which is kept in the field
// `moved_id`.
class Fence {
 public:
  explicit Fence(TransferSite& site) : site_(site) {}

  Status set(const Mark& mark) {
    const auto id = real_id();
    if (!id) return id.error();
    if (auto done = site_.write_mark(mark); !done) return done;
    return name(*id, core::Guid{~id->high, ~id->low});
  }
  Status drop() {
    const auto id = real_id();
    if (!id) return id.error();
    if (auto done = name(*id, *id); !done) return done;
    const auto dropped = site_.ask_catalogue({"HDEL", site_.keys().of_catalogue("store"), "moved_id", "move"});
    return dropped ? Status{} : Status{dropped.error()};
  }

 private:
  Result<core::Guid> real_id() {
    const auto ids = site_.ask_catalogue({"HMGET", site_.keys().of_catalogue("store"), "moved_id", "id"});
    if (!ids) return ids.error();
    const auto id = core::Guid::parse((*ids)[0].is_nil() ? (*ids)[1].text : (*ids)[0].text);
    if (!id) return malformed("the id of the store");
    return *id;
  }
  Status name(const core::Guid& real, const core::Guid& shown) {
    const auto put_id =
        site_.ask_catalogue({"HSET", site_.keys().of_catalogue("store"), "moved_id", real.text(), "id", shown.text()});
    if (!put_id) return put_id.error();
    const auto lanes = site_.read_lanes();
    if (!lanes) return lanes.error();
    for (const core::LaneId lane : *lanes)
      if (const auto done = site_.ask_one(lane, {"HSET", site_.keys().of_lane(lane, "lane"), "store", shown.text()});
          !done)
        return done.error();
    return {};
  }

  TransferSite& site_;
};

Status check_idle(TransferSite& site) {
  const Instant now = site.store().now();
  const auto in_use = [&](const std::string& by, Instant until) {
    return Error{ErrorCode::retry_later, format("{} runs on the store; stop it, then move. One that was killed counts "
                                                "as running until its lease is over, in"
                                                " {} s",
                                                by, (until - now).count() / 1'000'000 + 1)};
  };
  const auto pools = site.read_pools();
  if (!pools) return pools.error();
  for (const auto& pool : *pools) {
    const auto engines = site.ask_catalogue({"HGETALL", site.keys().engines(Pool(pool.pool))});
    if (!engines) return engines.error();
    for (std::size_t i = 0; i + 1 < engines->list.size(); i += 2) {
      const auto engine = read_engine((*engines)[i].text, (*engines)[i + 1].text);
      if (!engine) return engine.error();
      if (engine->until > now) return in_use(engine->name, engine->until);
    }
    for (std::uint32_t i = 0; i < pool.lanes; ++i) {
      const auto lane = site.store().read_lane(core::LaneId(pool.first + i));
      if (!lane) return lane.error();
      const Instant until = lane->lease_until.value_or(now + std::chrono::hours(24));
      if (!lane->owner.empty() && until > now) return in_use(lane->owner, until);
    }
  }
  return {};
}

class KeysSource final : public transfer::Source {
 public:
  explicit KeysSource(std::unique_ptr<TransferSite> site) : site_(std::move(site)) {}
  // A move that failed leaves the store unchanged.
  ~KeysSource() override {
    if (fenced_) (void)Fence(*site_).drop().ok();
  }

  Status fence(const Mark& leaving) override {
    const auto mark = read_mark(site_->servers(), site_->keys());
    if (!mark) return mark.error();
    if (*mark && ((*mark)->state == Mark::State::incoming || (*mark)->other != leaving.other))
      return transfer::refusal_of(**mark, site_->servers().url().shown());
    if (auto idle = check_idle(*site_); !idle) return idle;
    fenced_ = !*mark;  // the fence of an earlier move stays, whatever happens in this one
    if (auto done = Fence(*site_).set(*mark ? **mark : leaving); !done) return done;
    return check_idle(*site_);  // no process opened the store meanwhile
  }
  Status finish(const Mark& moved) override {
    fenced_ = false;
    return site_->write_mark(moved);
  }
  Result<std::uint64_t> count_jobs() override { return site_->count_jobs(); }
  Status read(const transfer::See& see) override { return TransferReader(*site_, see).read(); }
  Store& store() override { return site_->store(); }

 private:
  std::unique_ptr<TransferSite> site_;
  bool fenced_ = false;
};

class KeysTarget final : public transfer::Target {
 public:
  explicit KeysTarget(std::unique_ptr<TransferSite> site) : site_(std::move(site)), writer_(*site_) {}

  Status begin(const Mark& incoming) override {
    const std::string shown = site_->servers().url().shown();
    const auto mark = read_mark(site_->servers(), site_->keys());
    if (!mark) return mark.error();
    if (*mark && (*mark)->state != Mark::State::incoming) return transfer::refusal_of(**mark, shown);
    if (!*mark) {
      bool used = false;
      const std::string own = site_->keys().of_catalogue("store");
      auto looked = scan([&](const Address&, const std::string& key) -> Status {
        used = used || key != own;
        return {};
      });
      if (!looked) return looked;
      if (used)
        return Error{ErrorCode::invalid,
                     format("{} holds a store already; name another server or database, or take its keys away", shown)};
    }
    if (auto done = site_->write_mark(incoming); !done) return done;
    return *mark ? wipe() : Status{};
  }
  Status put(std::span<const transfer::Record> records) override {
    for (const transfer::Record& record : records) writer_.put(record);
    return writer_.flush();
  }
  Status end_of_records() override {
    auto done = writer_.end_of_records();
    return done ? site_->reopen() : done;
  }
  Status finish() override {
    const auto dropped = site_->ask_catalogue({"HDEL", site_->keys().of_catalogue("store"), "move"});
    return dropped ? Status{} : Status{dropped.error()};
  }
  Result<std::uint64_t> count_jobs() override { return site_->count_jobs(); }
  Status read(const transfer::See& see) override { return TransferReader(*site_, see).read(); }
  Store& store() override { return site_->store(); }

 private:
  using SeeKey = std::function<Status(const Address&, const std::string&)>;
  Status scan(const SeeKey& see) { return site_->scan_keys(site_->keys().beginning(), see); }

  Status wipe() {
    const std::string own = site_->keys().of_catalogue("store");
    auto done = scan([&](const Address& node, const std::string& key) -> Status {
      if (key == own) return {};
      Commands commands;
      commands.add({"UNLINK", key});
      const auto replies = site_->servers().ask_node(node, commands);
      if (!replies) return replies.error();
      return replies->front().is_error() ? Status{Error{ErrorCode::retry_later, replies->front().text}} : Status{};
    });
    if (!done) return done;
    const auto dropped = site_->ask_catalogue({"HDEL", own, "lanes"});
    return dropped ? Status{} : Status{dropped.error()};
  }

  std::unique_ptr<TransferSite> site_;
  TransferWriter writer_;
};

Result<std::unique_ptr<TransferSite>> open_existing(const std::string& url, Options options) {
  auto site = TransferSite::open(url, std::move(options));
  if (!site) return site.error();
  const auto id = (*site)->ask_catalogue({"HGET", (*site)->keys().of_catalogue("store"), "id"});
  if (!id) return id.error();
  if (id->is_nil())
    return Error{ErrorCode::not_found, format("there is no store on {}", (*site)->servers().url().shown())};
  if (const auto opened = (*site)->reopen(); !opened) return opened.error();
  return site;
}

}  // namespace

Result<std::unique_ptr<transfer::Source>> open_source(const std::string& url, Options options) {
  auto site = open_existing(url, std::move(options));
  if (!site) return site.error();
  return std::unique_ptr<transfer::Source>(std::make_unique<KeysSource>(std::move(*site)));
}

Result<std::unique_ptr<transfer::Target>> open_target(const std::string& url, Options options) {
  auto site = TransferSite::open(url, std::move(options));
  if (!site) return site.error();
  if (const auto opened = (*site)->reopen(); !opened) return opened.error();  // it checks what the server keeps
  return std::unique_ptr<transfer::Target>(std::make_unique<KeysTarget>(std::move(*site)));
}

Status undo_move(const std::string& url, Options options) {
  auto site = open_existing(url, std::move(options));
  if (!site) return site.error();
  const auto mark = read_mark((*site)->servers(), (*site)->keys());
  if (!mark) return mark.error();
  if (!*mark || (*mark)->state == Mark::State::incoming)
    return Error{ErrorCode::invalid, "this store was not moved; there is nothing to take back"};
  return Fence(**site).drop();
}

}  // namespace pawl::store::redis
