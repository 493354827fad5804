// Addresses, access rights, TLS, and notifications.
#include <cstdlib>
#include <thread>

#include "store/redis/bench_test.h"
#include "store/redis/doorbell.h"
#include "store/redis/layout.h"
#include "store/redis/url.h"

namespace pawl::store::redis {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RedisUrl, says_where_and_who) {
  const auto plain = Url::parse("redis://somewhere");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->nodes, (std::vector<Address>{{"somewhere", 6379}}));
  const auto all = Url::parse("rediss://user:se%40cret@[::1]:7000/3");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->tls);
  EXPECT_EQ(all->user, "user");
  EXPECT_EQ(all->password, "se@cret");
  EXPECT_EQ(all->database, 3u);
  EXPECT_EQ(all->nodes, (std::vector<Address>{{"::1", 7000}}));
  EXPECT_EQ(all->shown().find("secret"), std::string::npos);
  EXPECT_EQ(all->shown().find("se@cret"), std::string::npos);
  const auto cluster = Url::parse("redis-cluster://:word@a:1,b:2,c");
  ASSERT_TRUE(cluster);
  EXPECT_TRUE(cluster->cluster);
  EXPECT_EQ(cluster->password, "word");
  EXPECT_EQ(cluster->nodes, (std::vector<Address>{{"a", 1}, {"b", 2}, {"c", 6379}}));
  const auto watched = Url::parse("redis-sentinel://user:word@a,b:7/jobs/3");
  ASSERT_TRUE(watched);
  EXPECT_TRUE(watched->has_sentinels() && !watched->is_one_server());
  EXPECT_EQ(watched->master, "jobs");
  EXPECT_EQ(watched->database, 3u);
  EXPECT_EQ(watched->nodes, (std::vector<Address>{{"a", 26379}, {"b", 7}}));
  EXPECT_TRUE(Url::parse("rediss-sentinel://a/jobs")->tls);
  const auto local = Url::parse("redis+unix:///run/redis.sock?database=2");
  ASSERT_TRUE(local);
  EXPECT_TRUE(local->nodes[0].is_local());
  EXPECT_EQ(local->database, 2u);
}

TEST(RedisUrl, that_is_wrong_is_refused_without_showing_the_password) {
  for (const char* text :
       {"", "http://a", "redis://", "redis://:word@", "redis://a:word", "redis://a:0", "redis://a:70000",
        "redis://a/word", "redis://a,b", "redis-sentinel://a", "redis-sentinel://a/", "redis-sentinel://:word@a",
        "redis-cluster://a/1", "redis+unix://relative", "redis+unix:///a?word=1"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::invalid);
    EXPECT_EQ(url.error().detail.find("word"), std::string::npos);
  }
}

TEST(RedisUrl, takes_the_password_of_the_environment_if_it_has_none) {
  setenv("PAWL_REDIS_PASSWORD", "hidden", 1);
  EXPECT_EQ(Url::parse("redis://a")->password, "hidden");
  EXPECT_EQ(Url::parse("redis://:said@a")->password, "said");
  unsetenv("PAWL_REDIS_PASSWORD");
}

class RedisOpen : public OwnStore {};

TEST_F(RedisOpen, one_server_gets_few_lanes) {
  TestServer server;
  Options options;
  options.accept_weaker = true;
  const auto opened = open_at(server.url(), options);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ((*opened)->usual_lanes(), limits::lanes_of_one_server);
}

TEST_F(RedisOpen, the_id_is_made_once_and_is_the_stores_for_ever) {
  TestServer server;
  Options options;
  options.accept_weaker = true;
  const auto first = open_at(server.url(), options);
  const auto second = open_at(server.url_by_port(), options);
  options.prefix = "other";
  const auto other = open_at(server.url(), options);
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ((*first)->id(), (*second)->id());
  EXPECT_FALSE((*first)->id() == (*other)->id());
}

class RedisLayout : public OwnStore {
 protected:
  void SetUp() override { options_.accept_weaker = true; }
  Result<std::unique_ptr<Store>> open() { return open_at(server_.url(), options_); }
  std::string layout() { return server_.ask({"HGET", "pawl:{catalogue}:store", "layout"}); }
  void set_layout(const std::string& number) { server_.ask({"HSET", "pawl:{catalogue}:store", "layout", number}); }
  void expect_refused(const Result<Outcome>& outcome) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::unsupported);
    EXPECT_NE(outcome.error().detail.find("has layout 99"), std::string::npos) << outcome.error().detail;
    EXPECT_NE(outcome.error().detail.find("use a newer program"), std::string::npos) << outcome.error().detail;
  }
  // A newer program raises the number while this one has the store open.
  void outlive() {
    use(server_.url(), options_);
    const core::LaneId other(lane_.raw() + 1);
    set_layout("99");
    EXPECT_TRUE(try_commit(RenewLane{lane_, epoch_, seconds(30)})) << "it does not know yet";
    expect_refused(try_commit(AcquireLane{other, "engine-a", seconds(30)}));
    expect_refused(try_commit(RenewLane{lane_, epoch_, seconds(30)}));
    expect_refused(try_commit(AcquireLane{lane_, "engine-a", seconds(30)}));
    const StartDuplex start{Namespace("n"), JobId("d"), lane_, {GraphName("g"), 1, 7}, "in", store_->now()};
    EXPECT_FALSE(store_->duplex().commit_one(start));
    const auto after = store_->read_lane(other);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->owner, "");
    set_layout(decimal(layout_number));
    EXPECT_TRUE(try_commit(RenewLane{lane_, epoch_, seconds(30)})) << "it looked again";
    EXPECT_TRUE(store_->duplex().commit_one(start));

    set_layout("99");
    const std::string pools = server_.ask({"HGETALL", "pawl:{catalogue}:engines:graphs"});
    expect_refused(try_commit(BeatEngine{Pool("graphs"), "engine-a", seconds(30)}));
    EXPECT_EQ(server_.ask({"HGETALL", "pawl:{catalogue}:engines:graphs"}), pools);
    expect_refused(try_commit(RenewLane{lane_, epoch_, seconds(30)}));
    expect_refused(try_commit(OpenPool{Pool("more"), 2}));
    EXPECT_EQ(layout(), "99") << "nobody lowers it";
  }

  TestServer server_;
  Options options_;
};

TEST_F(RedisLayout, a_store_without_a_number_and_one_with_a_lower_one_get_this_programs_number) {
  for (const char* before : {"", "1", "2"}) {
    if (*before == 0)
      server_.ask({"HDEL", "pawl:{catalogue}:store", "layout"});
    else
      set_layout(before);
    const auto opened = open();
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ(layout(), decimal(layout_number)) << before;
  }
}

TEST_F(RedisLayout, a_newer_one_is_refused_and_left_as_it_is) {
  ASSERT_TRUE(open());
  set_layout("99");
  for (const bool moves : {false, true}) {
    options_.despite_moves = moves;
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().detail.find("has layout 99"), std::string::npos) << refused.error().detail;
    EXPECT_NE(refused.error().detail.find("use a newer program"), std::string::npos) << refused.error().detail;
  }
  EXPECT_EQ(layout(), "99");
  set_layout("no number");
  const auto damaged = open();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::corrupt);
}

TEST_F(RedisLayout, a_newer_program_that_raises_it_stops_this_one_at_its_next_lane_or_beat) { outlive(); }

TEST_F(RedisLayout, the_same_without_scripts) {
  server_.ask({"ACL", "SETUSER", "default", "-@scripting"});
  outlive();
}

// Programs of two versions that start at the same moment: whoever comes second, the higher number stays.
TEST_F(RedisLayout, of_two_programs_that_start_at_once_the_newer_one_decides) {
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    server_.ask({"HDEL", "pawl:{catalogue}:store", "layout"});
    std::thread older([&] { refused += open().ok() ? 0 : 1; });
    std::this_thread::sleep_for(std::chrono::microseconds(i * 100));
    set_layout("99");
    older.join();
    EXPECT_EQ(layout(), "99");
  }
  EXPECT_GT(refused, 0);
}

TEST_F(RedisOpen, a_password_is_needed_where_it_is_and_never_shown) {
  ServerOptions options;
  options.more = {"--user", "pawl", "on", ">secret", "~*", "&*", "+@all"};
  TestServer server(options);
  server.ask({"ACL", "SETUSER", "default", "off"});
  Options accept;
  accept.accept_weaker = true;
  const auto wrong = open_at(format("redis://pawl:wrong@127.0.0.1:{}", server.port()), accept);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(to_string(wrong.error()).find("wrong@"), std::string::npos);
  EXPECT_FALSE(open_at(server.url_by_port(), accept));
  const auto right = open_at(format("redis://pawl:secret@127.0.0.1:{}", server.port()), accept);
  EXPECT_TRUE(right) << to_string(right.error());
}

TEST_F(RedisOpen, over_tls_only_a_server_with_a_good_name_is_believed) {
  const TemporaryFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string make = format(
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost "
      "-keyout {} -out {} 2>/dev/null",
      file("key"), file("cert"));
  ASSERT_EQ(std::system(make.c_str()), 0);
  const std::uint16_t port = free_port();
  ServerOptions options;
  options.more = {"--tls-port", format("{}", port),   "--tls-cert-file", file("cert"),         "--tls-key-file",
                  file("key"),  "--tls-ca-cert-file", file("cert"),      "--tls-auth-clients", "no"};
  TestServer server(options);
  Options tls;
  tls.accept_weaker = true;
  tls.tls.ca_file = file("cert");
  use(format("rediss://localhost:{}", port), tls);
  const std::string large(1u << 20, 'x');
  Submit job = a_job("a", lane_);
  job.input = large;
  const RunId run = commit(job).run();
  EXPECT_EQ(std::get<core::Start>(this->job(run).inbox.at(0).message.body).input.str(), large);
  EXPECT_FALSE(open_at(format("rediss://127.0.0.1:{}", port), tls)) << "its certificate is for another name";
  tls.tls.ca_file.clear();
  EXPECT_FALSE(open_at(format("rediss://localhost:{}", port), tls)) << "nobody vouches for it";
  setenv("SSL_CERT_FILE", file("cert").c_str(), 1);
  EXPECT_TRUE(open_at(format("rediss://localhost:{}", port), tls)) << "now the system does";
  unsetenv("SSL_CERT_FILE");
}

class Heard final : public Listener {
 public:
  void rung(const Change& change) override {
    const std::lock_guard lock(mutex_);
    all_.push_back(change);
  }
  void owner_gone() override {}
  // Waits until a notification arrives for which `wanted` returns true.
  bool waits_for(const std::function<bool(const Change&)>& wanted, milliseconds time = seconds(5)) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      {
        const std::lock_guard lock(mutex_);
        for (const Change& change : all_)
          if (wanted(change)) return true;
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<Change> all_;
};

TEST(RedisRing, is_read_as_it_was_written) {
  Ring ring{"me", core::LaneId(7), {}};
  ring.change.work = ring.change.outboxes = true;
  ring.change.add(RunId(~std::uint64_t{0} >> 1));
  ring.change.add(RunId(3));
  const auto read = parse_ring(ring_text(ring));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sender, "me");
  EXPECT_EQ(read->lane, core::LaneId(7));
  EXPECT_EQ(read->change, ring.change);
  for (const char* text : {"", "a", "a b", "a 1 x", "a 1"}) EXPECT_FALSE(parse_ring(text)) << text;
}

class RedisBell : public OwnStore {
 protected:
  void SetUp() override {
    options_.accept_weaker = true;
    use(server_.url(), options_);
    other_ = std::move(*open_at(server_.url(), options_));
  }
  Outcome commit_elsewhere(const Operation& operation) { return (*other_->commit({&operation, 1}))[0]; }

  TestServer server_;
  Options options_;
  std::unique_ptr<Store> other_;
  Heard heard_;
};

TEST_F(RedisBell, whoever_has_the_lane_hears_which_runs_others_changed) {
  store_->listen(heard_);
  const RunId run = commit_elsewhere(a_job("a", lane_)).run();
  EXPECT_TRUE(heard_.waits_for([&](const Change& change) { return change.runs == std::vector<RunId>{run}; }));
  store_->stop_listening(heard_);
}

TEST_F(RedisBell, what_is_done_in_other_lanes_is_not_told_unless_it_is_for_all) {
  store_->listen(heard_);
  const core::LaneId other(lane_.raw() + 1);
  commit_elsewhere(a_job("a", other));
  commit_elsewhere(AcquireLane{other, "engine-b", seconds(30)});
  commit_elsewhere(PauseTopic{Topic("t"), true, other});
  EXPECT_TRUE(heard_.waits_for([](const Change& change) { return change.topics; }));
  EXPECT_EQ(heard_.count(), 1u);
  commit_elsewhere(ReleaseLane{other, core::Epoch(1)});
  EXPECT_TRUE(heard_.waits_for([](const Change& change) { return change.lanes; }));
  commit_elsewhere(PutApp{Namespace("n"), "app", "1", "body"});
  EXPECT_TRUE(heard_.waits_for([](const Change& change) { return change.graphs; }));
  store_->stop_listening(heard_);
}

TEST_F(RedisBell, after_a_lost_connection_everything_may_have_changed) {
  store_->listen(heard_);
  EXPECT_NE(server_.ask({"CLIENT", "KILL", "TYPE", "pubsub"}), "0");
  EXPECT_TRUE(heard_.waits_for([](const Change& change) { return change == Change::everything(); }));
  const RunId run = commit_elsewhere(a_job("a", lane_)).run();
  EXPECT_TRUE(heard_.waits_for([&](const Change& change) { return change.runs == std::vector<RunId>{run}; }));
  store_->stop_listening(heard_);
}

TEST_F(RedisBell, a_server_that_restarts_is_listened_to_again) {
  store_->listen(heard_);
  server_.stop();
  server_.start();
  EXPECT_TRUE(heard_.waits_for([](const Change& change) { return change == Change::everything(); }));
  store_->stop_listening(heard_);
}

TEST_F(RedisBell, whoever_rings_is_heard_elsewhere) {
  store_->listen(heard_);
  Change change;
  change.work = true;
  other_->ring(lane_, change);
  EXPECT_TRUE(heard_.waits_for([&](const Change& told) { return told == change; }));
  store_->stop_listening(heard_);
}

}  // namespace

}  // namespace pawl::store::redis
