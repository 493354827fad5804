// What happens when the file was moved, has two names, or has lost its log.
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "store/sqlite/child_process_test.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/owner_lock.h"

namespace pawl::store::sqlite {

namespace fs = std::filesystem;

class PlaceTest : public FileTest {
 protected:
  static constexpr core::LaneId lane{1};

  Options options() {
    Options options;
    options.on_fatal = [this](const std::string& message) { fatal_ = message; };
    return options;
  }
  std::string beside(const std::string& name) const { return (folder_.path() / name).string(); }
  static bool has(pawl::store::Store& store, const std::string& id) {
    const auto found = store.find_run(Namespace("default"), JobId(id));
    EXPECT_TRUE(found) << to_string(found.error());
    return found && found->has_value();
  }
  static void expect_refused(const std::string& file, const std::string& part) {
    const auto opened = Store::open(file, {});
    ASSERT_FALSE(opened) << file;
    EXPECT_NE(opened.error().detail.find(part), std::string::npos) << opened.error().detail;
  }
  void expect_commit_fails(ErrorCode code, const std::string& part, const std::string& id = "late") {
    const std::vector<Operation> group{a_submit(lane_, id)};
    const auto outcomes = store_->commit(group);
    ASSERT_FALSE(outcomes);
    EXPECT_EQ(outcomes.error().code, code) << outcomes.error().detail;
    EXPECT_NE(outcomes.error().detail.find(part), std::string::npos) << outcomes.error().detail;
  }
  // The database file is marked: from then on a copy without its log is recognised.
  static void await_mark(Store& store) {
    while (store.stats().checkpoints == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Owns the file and commits `count` jobs; each is reported when it is acknowledged.
  static void own_and_submit(const std::string& path, std::uint64_t count, int out) {
    const auto store = must_open(path);
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    await_mark(*store);
    for (std::uint64_t i = 0; i < count; ++i) {
      must_commit(*store, {a_submit(lane, "job-" + std::to_string(i))});
      send(out, i);
    }
    while (true) pause();
  }
  void kill_after(std::uint64_t count) {
    Child owner([&](int out) { own_and_submit(path(), count, out); });
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(owner.read(), i);
    owner.kill_now();
  }

  std::string fatal_;
};

TEST_F(PlaceTest, a_file_that_something_else_in_the_process_opens_and_closes_loses_nothing) {
  // Claim: two stores of one process on one file, and a library that opens and closes the file itself, do not make
  // other programs think that the file is unused. Checked by such a program, which would copy the log and delete it,
  // and by killing the process afterwards.
  const std::string go = beside("go");
  Child owner([&](int out) {
    const auto store = must_open(path());
    must_commit(*store, {OpenPool{Pool("graphs"), 1}});
    must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    must_commit(*store, {a_submit(lane, "before")});
    { must_commit(*must_open(path()), {a_submit(lane, "by-the-second")}); }
    std::ifstream(path()).get();
    send(out, 1);
    while (!fs::exists(go)) usleep(200);
    for (int i = 0; i < 20; ++i) must_commit(*store, {a_submit(lane, "after-" + std::to_string(i))});
    send(out, 2);
    while (true) pause();
  });
  ASSERT_EQ(owner.read(), 1u);
  EXPECT_EQ(raw("SELECT count(*) FROM jobs"), "2");
  EXPECT_TRUE(fs::exists(path() + "-wal"));
  std::ofstream(go).close();
  ASSERT_EQ(owner.read(), 2u);
  owner.kill_now();
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_TRUE(has(**opened, "before"));
  EXPECT_TRUE(has(**opened, "by-the-second"));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(has(**opened, "after-" + std::to_string(i)));
  EXPECT_TRUE((*opened)->verify());
}

TEST_F(PlaceTest, the_last_one_to_close_still_takes_the_log_home) {
  open_bench();
  auto second = Store::open(path(), {});
  ASSERT_TRUE(second);
  submit("a");
  store_.reset();
  EXPECT_TRUE(fs::exists(path() + "-wal"));
  second->reset();
  EXPECT_FALSE(fs::exists(path() + "-wal"));
}

TEST_F(PlaceTest, a_file_with_two_names_is_refused_under_both) {
  open_bench();
  store_.reset();
  fs::create_hard_link(path(), beside("b.db"));
  expect_refused(path(), "2 names");
  expect_refused(beside("b.db"), "2 names");
  fs::remove(beside("b.db"));
  EXPECT_TRUE(Store::open(path(), {}));
}

TEST_F(PlaceTest, a_second_name_stops_the_work_until_it_is_gone) {
  open_bench(options());
  fs::create_hard_link(path(), beside("b.db"));
  commit(a_submit(lane_, "on-the-way"));
  expect_commit_fails(ErrorCode::retry_later, "second name");
  expect_refused(beside("b.db"), "2 names");
  fs::remove(beside("b.db"));
  EXPECT_EQ(kind_of(a_submit(lane_, "late")), OutcomeKind::committed);
  EXPECT_TRUE(has(*store_, "on-the-way"));
  EXPECT_EQ(fatal_, "");
}

TEST_F(PlaceTest, a_file_that_was_moved_away_takes_no_work_until_it_is_back) {
  Child other([&](int out) {  // another process that gets the moved file
    while (!fs::exists(beside("moved.db"))) usleep(500);
    const auto opened = Store::open(beside("moved.db"), {});
    send(out, !opened && opened.error().detail.find("without its log") != std::string::npos ? 1 : 0);
  });
  open_bench(options());
  await_mark(sqlite());
  submit("before");
  fs::rename(path(), beside("moved.db"));
  expect_commit_fails(ErrorCode::outcome_unknown, "moved away");
  expect_commit_fails(ErrorCode::retry_later, "back in its place");
  // Neither name can be used meanwhile: one has no log, the other no file.
  EXPECT_EQ(other.read(), 1u);
  expect_refused(beside("moved.db"), "is open in this process as");
  expect_refused(path(), "end that process first");
  fs::rename(beside("moved.db"), path());
  EXPECT_EQ(kind_of(a_submit(lane_, "after")), OutcomeKind::committed);
  store_.reset();
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_TRUE(has(**opened, "before"));
  EXPECT_TRUE(has(**opened, "after"));
  EXPECT_TRUE((*opened)->verify());
  EXPECT_EQ(fatal_, "");
}

TEST_F(PlaceTest, a_file_that_was_replaced_takes_no_work) {
  { ASSERT_TRUE(Store::open(beside("other.db"), {})); }
  open_bench(options());
  fs::rename(path(), beside("moved.db"));
  fs::rename(beside("other.db"), path());
  expect_commit_fails(ErrorCode::outcome_unknown, "replaced");
  expect_refused(path(), "end that process first");
}

TEST_F(PlaceTest, a_file_that_was_removed_ends_the_process) {
  open_bench(options());
  fs::remove(path());
  expect_commit_fails(ErrorCode::outcome_unknown, "was removed");
  EXPECT_NE(fatal_.find("was removed"), std::string::npos) << fatal_;
  expect_commit_fails(ErrorCode::retry_later, "no more writes");
  expect_refused(path(), "end that process first");
}

TEST_F(PlaceTest, a_log_that_was_removed_is_taken_home_before_the_process_ends) {
  open_bench(options());
  submit("before");
  fs::remove(path() + "-wal");
  expect_commit_fails(ErrorCode::outcome_unknown, "-wal");
  EXPECT_NE(fatal_.find("-wal"), std::string::npos) << fatal_;
  store_.reset();
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_TRUE(has(**opened, "before"));
  EXPECT_TRUE((*opened)->verify());
}

TEST_F(PlaceTest, an_index_that_was_removed_ends_the_process) {
  open_bench(options());
  fs::remove(path() + "-shm");
  expect_commit_fails(ErrorCode::outcome_unknown, "-shm");
  EXPECT_NE(fatal_, "");
}

TEST_F(PlaceTest, a_log_without_its_file_is_not_thrown_away) {
  kill_after(3);
  fs::rename(path(), beside("elsewhere.db"));
  expect_refused(path(), "put the file back");
  EXPECT_TRUE(fs::exists(path() + "-wal"));
  fs::rename(beside("elsewhere.db"), path());
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_TRUE(has(**opened, "job-2"));
}

TEST_F(PlaceTest, a_lost_log_is_noticed) {
  kill_after(10);
  fs::remove(path() + "-wal");
  fs::remove(path() + "-shm");
  expect_refused(path(), "were acknowledged here");
  // Without the owner's record the file itself shows it.
  fs::remove(owner_path(path()));
  expect_refused(path(), "without its log");
  raw("UPDATE store_state SET writer = abs(writer)");
  EXPECT_TRUE(Store::open(path(), {}));
}

TEST_F(PlaceTest, a_damaged_log_is_noticed) {
  kill_after(10);
  std::fstream log(path() + "-wal", std::ios::binary | std::ios::in | std::ios::out);
  // Its third page: the end of the file may be left over from before the last copy.
  constexpr std::int64_t head = 32, page = limits::page_bytes + 24;
  log.seekp(head + 2 * page + 1000);
  log.write("damage", 6);
  log.close();
  expect_refused(path(), "were acknowledged here");
  fs::remove(owner_path(path()));
  EXPECT_TRUE(Store::open(path(), {}));  // continues without it, as the error suggests
}

TEST_F(PlaceTest, a_copy_needs_its_log_or_the_backup_command) {
  open_bench();
  await_mark(sqlite());
  submit("last");
  fs::copy(path(), beside("alone.db"));
  fs::copy(path(), beside("with.db"));
  fs::copy(path() + "-wal", beside("with.db-wal"));
  raw("VACUUM INTO '" + beside("vacuumed.db") + "'");
  sqlite3 *from = nullptr, *to = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &from), SQLITE_OK);
  ASSERT_EQ(sqlite3_open(beside("backup.db").c_str(), &to), SQLITE_OK);
  sqlite3_backup* backup = sqlite3_backup_init(to, "main", from, "main");
  ASSERT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  sqlite3_backup_finish(backup);
  sqlite3_close(to);
  sqlite3_close(from);
  expect_refused(beside("alone.db"), "without its log");
  for (const char* copy : {"with.db", "vacuumed.db", "backup.db"}) {
    const auto opened = Store::open(beside(copy), {});
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_TRUE(has(**opened, "last")) << copy;
  }
}

TEST_F(PlaceTest, an_older_copy_in_its_place_is_noticed) {
  open_bench();
  store_.reset();
  fs::copy(path(), beside("yesterday.db"));
  {
    const auto store = must_open(path());
    must_commit(*store, {AcquireLane{lane, "first", Duration(0)}});
    must_commit(*store, {a_submit(lane, "today")});
  }
  fs::copy(beside("yesterday.db"), path(), fs::copy_options::overwrite_existing);
  expect_refused(path(), "an older copy");
  fs::remove(owner_path(path()));
  EXPECT_TRUE(Store::open(path(), {}));
}

TEST_F(PlaceTest, only_an_owner_brings_a_file_forward) {
  open_bench();
  const auto known = migrations();
  std::vector<const char*> newer(known.begin(), known.end());
  newer.push_back("CREATE TABLE of_a_newer_program (a)");
  const auto refused = open_file(path(), {}, newer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().detail.find("process " + std::to_string(getpid())), std::string::npos)
      << refused.error().detail;
  submit("the-older-one-works-on");
  // Without an owner it is migrated; a process that has it open from before notices.
  auto guest = Store::open(path(), {});
  ASSERT_TRUE(guest);
  store_.reset();
  ASSERT_TRUE(open_file(path(), {}, newer));
  const auto read = (*guest)->find_run(default_namespace(), JobId("the-older-one-works-on"));
  ASSERT_FALSE(read) << "its statements could read empty payloads where the newer layout has them elsewhere";
  EXPECT_NE(read.error().detail.find("a newer program"), std::string::npos) << read.error().detail;
  const std::vector<Operation> group{a_submit(lane_, "late")};
  const auto late = (*guest)->commit(group);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().detail.find("a newer program"), std::string::npos) << late.error().detail;
  expect_refused(path(), "use a newer program");
}

TEST_F(PlaceTest, a_file_that_is_being_made_slowly_is_waited_for) {
  // Claim: a process that arrives while another one creates or migrates the file gets no error about an older program.
  // The other one takes longer in total than an older program is given.
  const auto known = migrations();
  const auto pause = 2 * limits::migration_wait / known.size();
  OwnerLock maker(path());
  ASSERT_TRUE(*maker.try_own());
  auto opened = Connection::open({path(), Connection::Mode::create, "", limits::busy_wait});
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str()));
  ASSERT_TRUE((*opened)->execute("PRAGMA journal_mode = WAL"));
  ASSERT_TRUE(migrate(**opened, known.first(1)));
  std::thread makes([&] {
    for (std::size_t version = 2; version <= known.size(); ++version) {
      std::this_thread::sleep_for(pause);
      EXPECT_TRUE(migrate(**opened, known.first(version)));
    }
  });
  const auto second = Store::open(path(), {});
  makes.join();
  EXPECT_TRUE(second) << to_string(second.error());
}

TEST(OwnerRecordTest, reads_back_what_it_wrote_and_nothing_else) {
  const OwnerRecord record{1234, FileId{7, 99}, core::Guid{1, 0xfedc'ba98'7654'3210}, 1'000'000'000'000};
  const std::string line = record.line();
  EXPECT_EQ(OwnerRecord::parse(line), record);
  EXPECT_EQ(OwnerRecord{}.line().size(), line.size());
  for (std::size_t size = 0; size < line.size(); ++size) EXPECT_FALSE(OwnerRecord::parse(line.substr(0, size))) << size;
  EXPECT_FALSE(OwnerRecord::parse("pawl"));
}

}  // namespace pawl::store::sqlite
