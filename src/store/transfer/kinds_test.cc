#include "store/transfer/kinds_test.h"

#include "base/format.h"
#include "store/postgres/schema_test.h"
#include "store/postgres/transfer.h"
#include "store/postgres/transfer_mark.h"
#include "store/redis/keys.h"
#include "store/redis/server_test.h"
#include "store/redis/spanning_test.h"
#include "store/redis/transfer.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/transfer.h"

namespace pawl::store::transfer {

namespace {

class FileHome final : public Home {
 public:
  std::string name() const override { return path(); }
  Result<std::unique_ptr<Store>> open(const Clock& clock) override {
    auto opened = sqlite::Store::open(path(), options(clock));
    if (!opened) return opened.error();
    return std::unique_ptr<Store>(std::move(*opened));
  }
  DuplexStore& duplex(Store& opened) override { return dynamic_cast<sqlite::Store&>(opened).duplex(); }
  Result<std::unique_ptr<Source>> source(const Clock& clock) override {
    return sqlite::open_source(path(), options(clock));
  }
  Result<std::unique_ptr<Target>> target(const Clock& clock) override {
    return sqlite::open_target(path(), options(clock));
  }
  Status undo(const Clock& clock) override { return sqlite::undo_move(path(), options(clock)); }
  void damage(RunId run) override {
    auto file = sqlite::Connection::open({path()});
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->execute(format("UPDATE jobs SET status = 77 WHERE run = {}", run.raw()).c_str()));
  }

 private:
  std::string path() const { return (folder_.path() / "pawl.db").string(); }
  static sqlite::Options options(const Clock& clock) {
    sqlite::Options options;
    options.clock = &clock;
    return options;
  }
  TemporaryFolder folder_;
};

class SchemaHome final : public Home {
 public:
  ~SchemaHome() override {
    if (const auto dropped = postgres::drop_mark(*connection(), schema_.name()); !dropped)
      ADD_FAILURE() << to_string(dropped.error());
  }
  std::string name() const override { return "schema " + schema_.name(); }
  Result<std::unique_ptr<Store>> open(const Clock& clock) override {
    auto opened = postgres::Store::open(address(), options(clock));
    if (!opened) return opened.error();
    return std::unique_ptr<Store>(std::move(*opened));
  }
  DuplexStore& duplex(Store& opened) override { return dynamic_cast<postgres::Store&>(opened).duplex(); }
  Result<std::unique_ptr<Source>> source(const Clock& clock) override {
    return postgres::open_source(address(), options(clock));
  }
  Result<std::unique_ptr<Target>> target(const Clock& clock) override {
    return postgres::open_target(address(), options(clock));
  }
  Status undo(const Clock& clock) override { return postgres::undo_move(address(), options(clock)); }
  void damage(RunId run) override {
    ASSERT_TRUE(connection()->execute(format("UPDATE jobs SET status = 77 WHERE run = {}", run.raw())));
  }

 private:
  static std::string address() { return postgres::SharedServer::get().address(); }
  std::unique_ptr<postgres::Connection> connection() const {
    return postgres::SharedServer::get().connect(schema_.name());
  }
  postgres::Options options(const Clock& clock) const {
    postgres::Options options;
    options.clock = &clock;
    options.schema = schema_.name();
    return options;
  }
  postgres::TestSchema schema_;
};

class KeysHome final : public Home {
 public:
  explicit KeysHome(bool cluster) : cluster_(cluster) {}
  std::string name() const override { return url() + " " + prefix_; }
  Result<std::unique_ptr<Store>> open(const Clock& clock) override {
    auto opened = redis::Store::open(url(), options(clock));
    if (!opened) return opened.error();
    return std::unique_ptr<Store>(std::make_unique<redis::SpanningStore>(std::move(*opened)));
  }
  DuplexStore& duplex(Store& opened) override {
    return dynamic_cast<redis::Store&>(dynamic_cast<redis::SpanningStore&>(opened).islands()).duplex();
  }
  Result<std::unique_ptr<Source>> source(const Clock& clock) override {
    return redis::open_source(url(), options(clock));
  }
  Result<std::unique_ptr<Target>> target(const Clock& clock) override {
    return redis::open_target(url(), options(clock));
  }
  Status undo(const Clock& clock) override { return redis::undo_move(url(), options(clock)); }
  void damage(RunId run) override {
    redis::ConnectionOptions connection;
    connection.connect_timeout = connection.reply_timeout = std::chrono::seconds(10);
    redis::Servers servers(*redis::Url::parse(url()), connection, 2);
    ASSERT_TRUE(servers.open());
    redis::Commands commands;
    commands.add({"HSET", redis::Keys(prefix_).of_run(run, "run"), "status", "odd"});
    ASSERT_TRUE(servers.ask(redis::tag_of(core::lane_of(run)), commands));
  }

 private:
  std::string url() const { return cluster_ ? redis::shared_cluster().url() : redis::shared_server().url(); }
  redis::Options options(const Clock& clock) const {
    redis::Options options;
    options.clock = &clock;
    options.prefix = prefix_;
    options.accept_weaker = true;
    return options;
  }
  const bool cluster_;
  const std::string prefix_ = redis::fresh_prefix();
};

}  // namespace

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> all = {Kind::sqlite, Kind::postgres, Kind::redis, Kind::cluster};
  return all;
}

std::string name_of(Kind kind) {
  static constexpr const char* names[] = {"sqlite", "postgres", "redis", "cluster"};
  return names[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Home> make_home(Kind kind) {
  switch (kind) {
    case Kind::sqlite:
      return std::make_unique<FileHome>();
    case Kind::postgres:
      return std::make_unique<SchemaHome>();
    case Kind::redis:
      return std::make_unique<KeysHome>(false);
    case Kind::cluster:
      break;
  }
  return std::make_unique<KeysHome>(true);
}

}  // namespace pawl::store::transfer
