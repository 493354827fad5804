// Store files that cannot be used: not Pawl's, too new, read-only, damaged, on a full disk. Each gets a clear error,
// the file is not changed, and its content is still there.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// A store with one completed job, closed again.
void make_store(const std::string& path, const std::string& job = "earlier") {
  auto runtime = start_runtime({.store = path});
  ASSERT_NE(runtime, nullptr);
  expect_runs(*runtime, job);
  runtime->stop();
}

void expect_store_works(const std::string& path) {
  auto runtime = start_runtime({.store = path});
  ASSERT_NE(runtime, nullptr);
  expect_readable(*runtime, "earlier");
  expect_runs(*runtime, "later");
}

void sql(const std::string& path, const std::string& text) {
  const Ran ran = shell("sqlite3 '" + path + "' \"" + text + "\"");
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
}

// A small separate file system, where this user may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(const char* size) {
    mounted_ = mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
    why_not_ = std::strerror(errno);
  }
  ~SmallDisk() {
    if (mounted_) umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const std::string& why_not() const { return why_not_; }
  const std::string& path() const { return dir_.path(); }
  bool make_read_only() const { return mount("tmpfs", path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0; }
  void fill() const {
    std::ofstream dummy(path() + "/dummy", std::ios::binary);
    const std::string block(4096, 'd');
    while (dummy.write(block.data(), 4096).flush()) {
    }
  }
  void empty() const { fs::remove(path() + "/dummy"); }

 private:
  TempDir dir_;
  bool mounted_ = false;
  std::string why_not_;
};

TEST(BadStore, a_file_that_is_not_a_database_is_refused_and_stays_as_it_is) {
  const TempDir dir;
  const std::string path = dir / "notes.txt";
  const std::string text = "shopping list\n" + std::string(5000, '.');
  write_file(path, text);
  EXPECT_TRUE(fails_with(pawl::open({.store = path}), ErrorCode::invalid,
                         {path, "not an SQLite database", "name another file"}));
  EXPECT_EQ(read_file(path), text);
  EXPECT_FALSE(fs::exists(path + "-wal"));
}

TEST(BadStore, a_database_of_another_program_is_refused_and_stays_as_it_is) {
  const TempDir dir;
  const std::string path = dir / "other.db";
  sql(path, "CREATE TABLE jobs (a); INSERT INTO jobs VALUES (1)");
  const std::string before = read_file(path);
  EXPECT_TRUE(fails_with(pawl::open({.store = path}), ErrorCode::invalid, {path, "another program"}));
  EXPECT_EQ(read_file(path), before);
}

TEST(BadStore, a_newer_version_is_refused_and_stays_as_it_is) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  const Ran version = shell("sqlite3 '" + path + "' 'PRAGMA user_version'");
  sql(path, "PRAGMA user_version = 99");
  const std::string before = read_file(path);
  EXPECT_TRUE(
      fails_with(pawl::open({.store = path}), ErrorCode::unsupported, {path, "version 99", "use a newer program"}));
  EXPECT_EQ(read_file(path), before);
  sql(path, "PRAGMA user_version = " + version.output);
  expect_store_works(path);
}

TEST(BadStore, a_path_that_leads_nowhere_says_what_is_missing) {
  const TempDir dir;
  EXPECT_TRUE(fails_with(pawl::open({.store = dir / "no/such/store.db"}), ErrorCode::not_found,
                         {"no directory", "no/such", "make it first"}));
  EXPECT_TRUE(fails_with(pawl::open({.store = dir.path()}), ErrorCode::invalid, {dir.path(), "is a directory"}));
  EXPECT_TRUE(fails_with(pawl::open({.store = "/dev/null"}), ErrorCode::invalid, {"/dev/null", "not a regular file"}));
}

TEST(BadStore, a_file_on_a_read_only_disk_is_refused_and_stays_as_it_is) {
  const SmallDisk disk("8m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs here: " << disk.why_not();
  const std::string path = disk.path() + "/store.db";
  make_store(path);
  const std::string before = read_file(path);
  ASSERT_TRUE(disk.make_read_only()) << std::strerror(errno);
  EXPECT_TRUE(fails_with(pawl::open({.store = path}), ErrorCode::invalid, {path, "writable"}));
  EXPECT_EQ(read_file(path), before);
}

TEST(BadStore, a_file_without_write_permission_is_refused) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  chmod(path.c_str(), 0444);
  chmod(dir.path().c_str(), 0755);
  // Root may write everything; another user may not.
  const bool root = geteuid() == 0;
  constexpr uid_t nobody = 65534;
  ASSERT_TRUE(!root || seteuid(nobody) == 0);
  const auto opened = pawl::open({.store = path});
  ASSERT_TRUE(!root || seteuid(0) == 0);
  EXPECT_TRUE(fails_with(opened, ErrorCode::invalid, {path, "writable"}));
  chmod(path.c_str(), 0644);
  expect_store_works(path);
}

TEST(BadStore, a_file_that_was_cut_short_is_refused_as_damaged) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  const std::string whole = read_file(path);
  fs::resize_file(path, whole.size() / 2 / 4096 * 4096);
  const std::string half = read_file(path);
  EXPECT_TRUE(fails_with(pawl::open({.store = path}), ErrorCode::corrupt, {path, "damaged", "backup"}));
  EXPECT_EQ(read_file(path), half);
  write_file(path, whole);
  expect_store_works(path);
}

TEST(BadStore, a_file_with_its_first_page_overwritten_is_refused) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  const std::string whole = read_file(path);
  write_file(path, std::string(4096, '\x5a') + whole.substr(4096));
  EXPECT_TRUE(fails_with(pawl::open({.store = path}), ErrorCode::invalid, {path, "not an SQLite"}));
  write_file(path, whole);
  expect_store_works(path);
}

TEST(BadStore, a_damaged_job_is_reported_by_name_and_the_others_go_on) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  make_store(path, "bent");
  sql(path,
      "UPDATE activities SET ledger = 9999999999999999 WHERE run = (SELECT run FROM jobs WHERE "
      "job_id = 'bent')");
  auto runtime = start_runtime({.store = path});
  ASSERT_NE(runtime, nullptr);
  const auto run = runtime->find("bent");
  ASSERT_TRUE(run.ok() && run->has_value());
  EXPECT_TRUE(fails_with((*run)->inspect(), ErrorCode::corrupt, {"ledger"}));
  expect_readable(*runtime, "earlier");
  expect_runs(*runtime, "later");
}

// What a process leaves when it is killed while it makes the file: the first page is written, and the journal that
// undoes it still exists. The file must still be usable after that.
TEST(BadStore, a_file_whose_maker_was_killed_half_way_is_made_anew_and_opens_twice) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  make_store(path);
  const std::string first_page = read_file(path).substr(0, 4096);
  fs::remove(path);
  for (const char* beside : {"-wal", "-shm"}) fs::remove(path + beside);
  // The header of a file that has only Pawl's mark: in rollback mode (bytes 18 and 19), one page long (28 to 31),
  // version 0 (60 to 63).
  std::string page = first_page;
  page[18] = page[19] = 1;
  page.replace(28, 4, std::string("\0\0\0\1", 4));
  page.replace(60, 4, std::string(4, '\0'));
  write_file(path, page);
  // A journal of a file that had no pages: magic, no record, nonce, 0 pages before, sector, page
  // size.
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0\0\0\0\0\0\0\1\0\0\0\0\0\0\2\0\0\0\x10\0", 28);
  journal.resize(512, '\0');
  write_file(path + "-journal", journal);
  make_store(path);
  expect_store_works(path);
}

TEST(FullDisk, new_jobs_are_refused_and_accepted_ones_end_when_there_is_room_again) {
  const SmallDisk disk("6m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs here: " << disk.why_not();
  auto runtime = start_runtime({.store = disk.path() + "/store.db"}, [](Work& work) {
    std::this_thread::sleep_for(3ms);
    return echo(work);
  });
  ASSERT_NE(runtime, nullptr);
  std::vector<RunId> accepted;
  std::string input = "x";
  const auto submit = [&](int number) {
    auto job = runtime->start("chain", Payload(input), {.id = "job-" + std::to_string(number)});
    if (job) accepted.push_back(job->run());
    return job;
  };
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(submit(i).ok());
  disk.fill();
  input = std::string(20'000, 'x');  // small inputs fit into free space of the file
  int refused = 0;
  for (int i = 40; i < 200 && refused < 20; ++i) {
    const auto job = submit(i);
    if (job) continue;
    ++refused;
    EXPECT_TRUE(fails_with(job, ErrorCode::retry_later, {"full", "free some space"}));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(refused, 20);
  disk.empty();
  for (const RunId run : accepted) {
    const auto end = runtime->job(run).wait(20s);
    ASSERT_TRUE(end.ok()) << to_string(end.error());
    EXPECT_EQ(end->status, JobStatus::completed);
  }
  expect_runs(*runtime, "later");
  runtime->stop();
  const Ran checked = shell("sqlite3 '" + disk.path() + "/store.db' 'PRAGMA integrity_check'");
  EXPECT_EQ(checked.output, "ok\n");
}

TEST(FullDisk, stop_does_not_wait_for_room_and_the_next_start_ends_the_jobs) {
  const SmallDisk disk("6m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs here: " << disk.why_not();
  const std::string path = disk.path() + "/store.db";
  RunId run{0};
  {
    auto runtime = start_runtime({.store = path}, [](Work& work) {
      std::this_thread::sleep_for(100ms);
      return echo(work);
    });
    ASSERT_NE(runtime, nullptr);
    const auto job = runtime->start("chain", Payload("x"), {.id = "j"});
    ASSERT_TRUE(job.ok());
    run = job->run();
    disk.fill();
    std::this_thread::sleep_for(150ms);
    const auto begin = std::chrono::steady_clock::now();
    runtime->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  }
  disk.empty();
  auto again = start_runtime({.store = path});
  ASSERT_NE(again, nullptr);
  const auto end = again->job(run).wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->result.str(), "x++");
}

TEST(FullDisk, a_new_store_on_a_full_disk_is_refused) {
  const SmallDisk disk("1m");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount a tmpfs here: " << disk.why_not();
  disk.fill();
  EXPECT_TRUE(fails_with(pawl::open({.store = disk.path() + "/store.db"}), ErrorCode::retry_later,
                         {"store.db", "free some space"}));
  disk.empty();
  make_store(disk.path() + "/store.db");
}

}  // namespace
}  // namespace pawl
