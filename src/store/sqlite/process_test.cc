// Several processes on one file: which one owns the lanes, which ones may deliver messages, and what a kill leaves.
#include <pthread.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <set>

#include "store/sqlite/child_process_test.h"
#include "store/sqlite/file_test.h"

namespace pawl::store::sqlite {

class ProcessTest : public FileTest {
 protected:
  class Hears final : public Listener {
   public:
    explicit Hears(
        std::function<void(const Change&)> then, std::function<void()> gone = [] {})
        : then_(std::move(then)), gone_(std::move(gone)) {}
    void rung(const Change& change) override { then_(change); }
    void owner_gone() override { gone_(); }

   private:
    std::function<void(const Change&)> then_;
    std::function<void()> gone_;
  };

  static constexpr core::LaneId lane{1};

  // Opens the pool, owns its lane, reports the epoch, and then every notification of the doorbell.
  static void own(const std::string& path, int out) {
    const auto store = must_open(path);
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    Hears hears([&](const Change&) {
      const auto found = store->find_run(Namespace("default"), JobId("from-the-second"));
      send(out, found && *found ? (*found)->raw() : 0);
    });
    store->listen(hears);
    const auto outcomes = must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    send(out, outcomes[0].epoch().raw());
    while (true) pause();
  }

  // Submits jobs one group at a time and reports each number once it is acknowledged.
  static void hammer(const std::string& path, const std::string& name, std::uint64_t count, int out) {
    const auto store = must_open(path);
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto outcomes = must_commit(*store, {a_submit(lane, name + std::to_string(i))});
      if (outcomes[0].kind != OutcomeKind::committed) _exit(6);
      const auto read = store->read_job(outcomes[0].run());
      if (!read || !*read) _exit(7);
      send(out, i);
    }
  }
};

TEST_F(ProcessTest, a_second_one_submits_while_the_owner_lives_and_takes_over_when_it_is_killed) {
  Child owner([&](int out) { own(path(), out); });
  const auto epoch = owner.read();
  ASSERT_TRUE(epoch);

  auto second = Store::open(path(), {});
  ASSERT_TRUE(second) << to_string(second.error());
  store_ = std::move(*second);
  EXPECT_EQ(kind_of(AcquireLane{lane, "second", Duration(0)}), OutcomeKind::conflict);
  EXPECT_EQ(kind_of(AcquireLane{lane, "first", Duration(0)}), OutcomeKind::conflict);
  const Outcome submitted = commit(a_submit(lane, "from-the-second"));
  ASSERT_EQ(submitted.kind, OutcomeKind::committed);
  // The owner is notified by the doorbell and finds it in the file.
  bool heard = false;
  while (const auto ring = owner.read())
    if (*ring == submitted.run().raw()) {
      heard = true;
      break;
    }
  EXPECT_TRUE(heard);

  owner.kill_now();
  const Outcome taken = commit(AcquireLane{lane, "second", Duration(0)});
  ASSERT_EQ(taken.kind, OutcomeKind::committed) << taken.reason;
  EXPECT_GT(taken.epoch().raw(), *epoch);
  EXPECT_FALSE(taken.lease_until());
  // Commits that the dead owner had not finished are fenced.
  lane_ = lane;
  epoch_ = core::Epoch(*epoch);
  EXPECT_EQ(kind_of(bundle_for(submitted.run())), OutcomeKind::fenced);
  epoch_ = taken.epoch();
  EXPECT_EQ(kind_of(bundle_for(submitted.run())), OutcomeKind::committed);
}

TEST_F(ProcessTest, two_that_hammer_one_file_lose_nothing_and_damage_nothing) {
  constexpr std::uint64_t count = 150;
  { ASSERT_TRUE(Store::open(path(), {})); }
  Child a([&](int out) { hammer(path(), "a", count, out); });
  Child b([&](int out) { hammer(path(), "b", count, out); });
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(a.read(), i);
    ASSERT_EQ(b.read(), i);
  }
  a.wait();
  b.wait();
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened);
  EXPECT_TRUE((*opened)->verify());
  EXPECT_EQ(raw("SELECT count(*) FROM jobs"), std::to_string(2 * count));
  EXPECT_EQ(raw("SELECT count(DISTINCT run) FROM start_keys"), std::to_string(2 * count));
}

TEST_F(ProcessTest, what_was_acknowledged_survives_a_kill_at_any_moment) {
  for (int round = 0; round < 8; ++round) {
    const std::string name = "round" + std::to_string(round) + "-";
    std::uint64_t acknowledged = 0;
    {
      Child child([&](int out) { hammer(path(), name, 100'000, out); });
      const std::uint64_t enough = 5 + static_cast<std::uint64_t>(round) * 7;
      while (acknowledged < enough) {
        const auto next = child.read();
        ASSERT_TRUE(next);
        acknowledged = *next + 1;
      }
      child.kill_now();
      while (const auto next = child.read(0)) acknowledged = *next + 1;
    }
    auto opened = Store::open(path(), {});
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    for (std::uint64_t i = 0; i < acknowledged; ++i) {
      const auto found = store_->find_run(Namespace("default"), JobId(name + std::to_string(i)));
      ASSERT_TRUE(found && *found) << name << i;
      EXPECT_EQ(job(**found).inbox.size(), 1u);
    }
    EXPECT_TRUE(sqlite().verify());
    store_.reset();
  }
}

TEST_F(ProcessTest, ownership_ends_with_the_store_that_had_it) {
  open_bench();
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second);
  EXPECT_FALSE(*(*second)->try_own());
  store_.reset();
  EXPECT_TRUE(*(*second)->try_own());
}

TEST_F(ProcessTest, the_doorbell_works_beside_a_file_with_a_very_long_path) {
  const auto deep = folder_.path() / std::string(120, 'd') / std::string(120, 'e');
  std::filesystem::create_directories(deep);
  const std::string file = (deep / (std::string(150, 'f') + ".db")).string();
  Child owner([&](int out) { own(file, out); });
  ASSERT_TRUE(owner.read());
  auto second = Store::open(file, {});
  ASSERT_TRUE(second) << to_string(second.error());
  const std::vector<Operation> group{a_submit(lane, "from-the-second")};
  ASSERT_TRUE((*second)->commit(group));
  EXPECT_TRUE(owner.read());
}

// Stops it while it holds no lock on the file, because it copies its log at any time.
void stop_at_rest(Child& owner, const std::string& file) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  for (;;) {
    owner.stop();
    const int begun = sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    if (begun == SQLITE_OK) break;
    ASSERT_EQ(begun, SQLITE_BUSY);
    owner.signal(SIGCONT);
    usleep(5000);
  }
  EXPECT_EQ(sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

TEST_F(ProcessTest, a_doorbell_that_was_deleted_beside_an_idle_owner_rings_again) {
  // Claim: even when the socket was deleted, the owner is notified at once of what others commit. Checked with a socket
  // that is gone, and with one that cannot be created again because something else has its name.
  const std::string bell = path() + "-bell";
  Child owner([&](int out) { own(path(), out); });
  ASSERT_TRUE(owner.read());
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second) << to_string(second.error());
  store_ = std::move(*second);
  const auto heard = [&](RunId run) {
    while (const auto ring = owner.read(1500))
      if (*ring == run.raw()) return true;
    return false;
  };
  stop_at_rest(owner, path());  // it must find things as they are left here
  ASSERT_TRUE(std::filesystem::remove(bell));
  const RunId run = commit(a_submit(lane, "from-the-second")).run();
  owner.signal(SIGCONT);
  EXPECT_TRUE(heard(run));
  while (!std::filesystem::exists(bell)) usleep(1000);
  stop_at_rest(owner, path());
  ASSERT_TRUE(std::filesystem::remove(bell));
  std::filesystem::create_directory(bell);
  owner.signal(SIGCONT);
  while (owner.read(200)) {
  }
  ASSERT_EQ(kind_of(a_submit(lane, "another")), OutcomeKind::committed);
  EXPECT_TRUE(heard(run));
}

// While it exists no thread can be created: each would need more memory than there are addresses.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t huge;
    pthread_getattr_default_np(&before_);
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 62);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

void await_file(const std::string& path) {
  while (!std::filesystem::exists(path)) usleep(1000);
}

TEST_F(ProcessTest, an_owner_without_a_thread_for_its_bell_goes_on_and_hears_when_there_is_one) {
  // Claim: the process survives when no thread can be created. It is reported once, nothing leaks, and the owner learns
  // what others committed meanwhile when a thread can be created, although the owner itself is idle.
  Child owner([&](int out) {
    const auto store = must_open(path());
    std::atomic<std::uint64_t> said{0};
    store->on_problem([&](const std::string& text) {
      if (text.find("no thread can be made") != std::string::npos) ++said;
    });
    Hears hears([&](const Change&) { send(out, 42); });
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});  // before listen(): no thread that could own the file is made
    store->listen(hears);
    {
      const NoThreads none;
      must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
      const std::size_t before = open_descriptors();
      for (int i = 0; i < 20; ++i) must_commit(*store, {a_submit(lane, "own" + std::to_string(i))});
      send(out, said);
      const std::size_t after = open_descriptors();
      send(out, after > before ? after - before : 0);
      await_file(path() + "-go");
    }
    while (true) pause();
  });
  EXPECT_EQ(owner.read(), 1u) << "times it was said";
  EXPECT_EQ(owner.read(), 0u) << "descriptors that leaked";
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second) << to_string(second.error());
  store_ = std::move(*second);
  ASSERT_EQ(kind_of(a_submit(lane, "unheard")), OutcomeKind::committed);
  std::ofstream(path() + "-go").close();
  EXPECT_EQ(owner.read(), 42u);
  ASSERT_EQ(kind_of(a_submit(lane, "heard")), OutcomeKind::committed);
  EXPECT_EQ(owner.read(), 42u);
}

TEST_F(ProcessTest, a_guest_without_a_thread_for_its_watch_goes_on_and_takes_over_when_there_is_one) {
  Child owner([&](int out) { own(path(), out); });
  ASSERT_TRUE(owner.read());
  Child guest([&](int out) {
    const auto store = must_open(path());
    std::atomic<std::uint64_t> said{0};
    store->on_problem([&](const std::string&) { ++said; });
    Hears hears([](const Change&) {}, [&] { send(out, 42); });
    store->listen(hears);
    {
      const NoThreads none;
      for (int i = 0; i < 20; ++i) must_commit(*store, {a_submit(lane, "guest" + std::to_string(i))});
      send(out, said);
      await_file(path() + "-go");
    }
    while (true) pause();
  });
  EXPECT_EQ(guest.read(), 1u) << "times it was said";
  owner.kill_now();
  std::ofstream(path() + "-go").close();
  EXPECT_EQ(guest.read(), 42u);
}

TEST_F(ProcessTest, a_forked_child_does_not_keep_what_its_parent_owned) {
  Child owner([&](int out) {
    const auto store = must_open(path());
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    const pid_t child = fork();
    if (child == 0)
      while (true) pause();
    send(out, static_cast<std::uint64_t>(child));
    while (true) pause();
  });
  const auto grandchild = owner.read();
  ASSERT_TRUE(grandchild);
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second) << to_string(second.error());
  EXPECT_FALSE(*(*second)->try_own());
  owner.kill_now();
  EXPECT_TRUE(*(*second)->try_own());
  ::kill(static_cast<pid_t>(*grandchild), SIGKILL);
}

TEST_F(ProcessTest, thirty_at_once_make_one_file_and_use_it) {
  // Claim: however many processes open a missing file at the same moment, each succeeds, and what was acknowledged is
  // there, also by those that are killed meanwhile.
  constexpr std::uint64_t processes = 30, jobs = 4;
  const auto go = folder_.path() / "go";
  std::vector<Child> children;
  for (std::uint64_t n = 0; n < processes; ++n)
    children.emplace_back([&, n](int out) {
      while (!std::filesystem::exists(go)) usleep(200);
      const auto store = must_open(path());
      must_commit(*store, {OpenPool{Pool("graphs"), 1}});
      must_commit(*store, {AcquireLane{lane, "node-" + std::to_string(n), Duration(0)}});
      for (std::uint64_t i = 0; i < jobs; ++i) {
        const std::string id = std::to_string(n) + "-" + std::to_string(i);
        if (must_commit(*store, {a_submit(lane, id)})[0].kind != OutcomeKind::committed) _exit(6);
        send(out, i);
        if (n % 3 == 0 && i == n % jobs) ::raise(SIGKILL);
      }
    });
  std::ofstream(go).close();
  std::vector<std::string> acknowledged;
  for (std::uint64_t n = 0; n < processes; ++n) {
    std::uint64_t count = 0;
    while (const auto i = children[n].read()) {
      acknowledged.push_back(std::to_string(n) + "-" + std::to_string(*i));
      ++count;
    }
    EXPECT_EQ(children[n].wait(), n % 3 == 0 ? -1 : 0) << n;
    EXPECT_EQ(count, n % 3 == 0 ? n % jobs + 1 : jobs) << n;
  }
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  for (const std::string& id : acknowledged) {
    const auto found = (*opened)->find_run(Namespace("default"), JobId(id));
    EXPECT_TRUE(found && *found) << id;
  }
  EXPECT_TRUE((*opened)->verify());
}

TEST_F(ProcessTest, a_ring_names_what_its_commit_touched) {
  // Claim: the owner need not look anywhere else. Checked with a submit and with a paused topic.
  Child owner([&](int out) {
    const auto store = must_open(path());
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    Hears hears([&](const Change& change) {
      const bool elsewhere = change.inboxes || change.work || change.times || change.graphs || change.duplex;
      send(out, elsewhere ? 1 : change.topics ? 2 : change.runs.size() == 1 ? change.runs[0].raw() : 3);
    });
    store->listen(hears);
    must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    send(out, 0);
    while (true) pause();
  });
  ASSERT_TRUE(owner.read());
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second) << to_string(second.error());
  store_ = std::move(*second);
  const RunId run = commit(a_submit(lane, "named")).run();
  EXPECT_EQ(owner.read(), run.raw());
  ASSERT_EQ(kind_of(PauseTopic{Topic("work"), true}), OutcomeKind::committed);
  EXPECT_EQ(owner.read(), 2u);
  ASSERT_EQ(kind_of(a_submit(lane, "named")), OutcomeKind::exists);
  EXPECT_EQ(owner.read(100), std::nullopt) << "nothing changed";
}

TEST_F(ProcessTest, a_process_that_dies_before_it_rings_is_missed) {
  // Claim: an idle owner learns of the commit when the kernel closes the file for the dead process, and looks
  // everywhere. Checked with a process that commits, never notifies, and is killed.
  Child owner([&](int out) { own(path(), out); });
  ASSERT_TRUE(owner.read());
  Child guest([&](int out) {
    Options silent;
    silent.rings = false;
    auto store = Store::open(path(), silent);
    if (!store) _exit(5);
    const auto outcomes = must_commit(**store, {a_submit(lane, "from-the-second")});
    send(out, outcomes[0].run().raw());
    while (true) pause();
  });
  const auto run = guest.read();
  ASSERT_TRUE(run);
  guest.kill_now();
  bool heard = false;
  while (!heard) {
    const auto ring = owner.read();
    ASSERT_TRUE(ring) << "the owner never looked";
    heard = *ring == *run;
  }
}

}  // namespace pawl::store::sqlite
