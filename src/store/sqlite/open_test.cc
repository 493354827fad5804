// Files that cannot be used: each is refused with its name and a next step, and stays byte for byte as it was.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "store/sqlite/file_test.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

Error error_of(const std::string& path) {
  const auto opened = Store::open(path, {});
  if (!opened) return opened.error();
  ADD_FAILURE() << path << " was opened";
  return Error{ErrorCode::invalid, ""};
}

// The error names the file and contains `part`; the file is untouched.
void expect_refused(const std::string& path, ErrorCode code, const std::string& part) {
  const std::string before = bytes_of(path);
  const Error error = error_of(path);
  EXPECT_EQ(error.code, code) << error.detail;
  EXPECT_NE(error.detail.find(path), std::string::npos) << error.detail;
  EXPECT_NE(error.detail.find(part), std::string::npos) << error.detail;
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
}

// Runs `body` as a user that owns nothing, because root may write everywhere.
int as_nobody(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && seteuid(65'534) != 0) _exit(90);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& at, const char* size) : at_(at) {
    std::filesystem::create_directories(at_);
    mounted_ = mount("tmpfs", at_.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string file(const std::string& name) const { return (at_ / name).string(); }
  void fill() const {
    const int ballast = open(file("ballast").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    const std::string page(4096, 'x');
    while (write(ballast, page.data(), page.size()) > 0) {
    }
    close(ballast);
  }
  void make_room() const { std::filesystem::remove(file("ballast")); }

 private:
  std::filesystem::path at_;
  bool mounted_ = false;
};

}  // namespace

class OpenTest : public FileTest {};

TEST_F(OpenTest, a_file_that_is_no_database_is_refused) {
  write_bytes(path(), std::string(5000, 'x'));
  expect_refused(path(), ErrorCode::invalid, "not an SQLite database");
  write_bytes(path(), "short");
  expect_refused(path(), ErrorCode::invalid, "not an SQLite database");
}

TEST_F(OpenTest, a_database_of_another_program_is_refused) {
  raw("CREATE TABLE theirs (a)");
  expect_refused(path(), ErrorCode::invalid, "another program");
}

TEST_F(OpenTest, a_newer_file_is_refused) {
  open_bench();
  store_.reset();
  raw("PRAGMA user_version = 99");
  raw("PRAGMA wal_checkpoint(TRUNCATE)");
  expect_refused(path(), ErrorCode::unsupported, "version 99");
}

TEST_F(OpenTest, a_newer_version_that_stands_only_in_the_log_is_refused_too) {
  open_bench();
  sqlite3* database = nullptr;  // kept open: closing the last connection would copy the log
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  sqlite3_busy_timeout(database, 5000);  // the store may still copy the log of its first commits
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
  const Error error = error_of(path());
  EXPECT_EQ(error.code, ErrorCode::unsupported) << error.detail;
  sqlite3_close(database);
}

TEST_F(OpenTest, a_directory_is_refused) {
  const Error error = error_of(folder_.path().string());
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_NE(error.detail.find("is a directory"), std::string::npos) << error.detail;
}

TEST_F(OpenTest, a_missing_directory_is_named) {
  const Error error = error_of((folder_.path() / "missing" / "pawl.db").string());
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_NE(error.detail.find("there is no directory"), std::string::npos) << error.detail;
}

TEST_F(OpenTest, a_file_that_lost_its_end_is_refused) {
  open_bench();
  store_.reset();
  const auto size = std::filesystem::file_size(path());
  std::filesystem::resize_file(path(), size - 8192);
  expect_refused(path(), ErrorCode::corrupt, "is damaged");
}

TEST_F(OpenTest, a_file_with_a_damaged_schema_is_refused) {
  open_bench();
  store_.reset();
  std::string bytes = bytes_of(path());
  for (std::size_t at = 100; at < 4096; ++at) bytes[at] = static_cast<char>(0xa5);
  write_bytes(path(), bytes);
  const Error error = error_of(path());
  EXPECT_EQ(error.code, ErrorCode::corrupt) << error.detail;
  EXPECT_NE(error.detail.find("backup"), std::string::npos) << error.detail;
  EXPECT_EQ(bytes_of(path()), bytes);
}

TEST_F(OpenTest, a_missing_table_is_named) {
  open_bench();
  store_.reset();
  raw("DROP VIEW message_view; DROP TABLE message_ledgers");
  const Error error = error_of(path());
  EXPECT_NE(error.detail.find("message_ledgers"), std::string::npos) << error.detail;
}

TEST_F(OpenTest, a_read_only_file_is_refused) {
  open_bench();
  store_.reset();
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  chmod(path().c_str(), 0444);
  const int result = as_nobody([&] {
    const auto opened = Store::open(path(), {});
    return !opened && opened.error().detail.find("make it writable") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(OpenTest, a_read_only_directory_is_refused) {
  open_bench();
  store_.reset();
  std::filesystem::permissions(path(), std::filesystem::perms::all);
  chmod(folder_.path().c_str(), 0555);
  const int result = as_nobody([&] {
    const auto opened = Store::open(path(), {});
    return !opened && opened.error().detail.find("not writable") != std::string::npos ? 0 : 1;
  });
  chmod(folder_.path().c_str(), 0755);
  EXPECT_EQ(result, 0);
}

TEST_F(OpenTest, a_full_disk_at_open_says_so) {
  const SmallDisk disk(folder_.path() / "disk", "size=512k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here";
  disk.fill();
  const Error error = error_of(disk.file("pawl.db"));
  EXPECT_EQ(error.code, ErrorCode::retry_later) << error.detail;
  EXPECT_NE(error.detail.find("free some space"), std::string::npos) << error.detail;
  disk.make_room();
  const auto opened = Store::open(disk.file("pawl.db"), {});
  EXPECT_TRUE(opened) << to_string(opened.error());
}

TEST_F(OpenTest, a_disk_that_fills_up_delays_the_group_and_loses_nothing) {
  // Claim: a group on a full disk is retry_later and leaves no trace; with room again the same group commits. Checked
  // by filling a small disk to its last page between two commits.
  const SmallDisk disk(folder_.path() / "disk", "size=8m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here";
  auto opened = Store::open(disk.file("pawl.db"), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  store_ = std::move(*opened);
  ASSERT_EQ(kind_of(OpenPool{Pool("graphs"), 1}), OutcomeKind::committed);
  const core::LaneId lane(1);
  ASSERT_EQ(kind_of(a_submit(lane, "before")), OutcomeKind::committed);
  disk.fill();
  const Payload large(std::string(100'000, 'x'));
  const std::vector<Operation> group{a_submit(lane, "a", large), a_submit(lane, "b", large)};
  const auto refused = store_->commit(group);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later);
  EXPECT_NE(refused.error().detail.find("free some space"), std::string::npos) << refused.error().detail;
  const auto absent = store_->find_run(Namespace("default"), JobId("a"));
  ASSERT_TRUE(absent) << to_string(absent.error());
  EXPECT_FALSE(*absent);
  disk.make_room();
  for (const Outcome& outcome : commit_all(group)) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(OpenTest, a_small_disk_is_used_to_its_end_and_is_not_stuck_when_there_is_room_again) {
  // Claim: the log never takes the room that copying it needs. So on 16 MB the store fills the disk with data, reports
  // that it is full, also to the next process, and continues when another file is deleted.
  const SmallDisk disk(folder_.path() / "disk", "size=16m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not permitted here";
  const std::string file = disk.file("pawl.db");
  const std::string ballast = disk.file("ballast");
  write_bytes(ballast, std::string(4 << 20, 'b'));
  store_ = nullptr;
  const auto open_it = [&] {
    auto opened = Store::open(file, {});
    EXPECT_TRUE(opened) << to_string(opened.error());
    if (opened) store_ = std::move(*opened);
  };
  open_it();
  ASSERT_NE(store_, nullptr);
  ASSERT_EQ(kind_of(OpenPool{Pool("graphs"), 1}), OutcomeKind::committed);
  const core::LaneId lane(1);
  ASSERT_EQ(kind_of(AcquireLane{lane, "first", Duration(0)}), OutcomeKind::committed);
  const Payload input(std::string(10'000, 'x'));
  int count = 0;
  std::uintmax_t log_bytes_most = 0;
  const auto commit_one = [&] {
    const std::vector<Operation> group{a_submit(lane, "job-" + std::to_string(count), input)};
    auto outcomes = store_->commit(group);
    if (outcomes) ++count;
    log_bytes_most = std::max(log_bytes_most, std::filesystem::file_size(file + "-wal"));
    return outcomes;
  };
  // A first refusal may mean that the copy is behind; the disk is full when it stays refused.
  using Clock = std::chrono::steady_clock;
  auto refused = commit_one();
  for (auto committed_at = Clock::now(); Clock::now() < committed_at + std::chrono::seconds(5);) {
    refused = commit_one();
    if (refused)
      committed_at = Clock::now();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_LT(count, 5000);
  }
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later);
  EXPECT_NE(refused.error().detail.find("free some space"), std::string::npos) << refused.error().detail;
  EXPECT_GT(count, 1'100);  // of about 1,160 that fit without any log
  // The copy starts at a quarter of the 12 MB, and at the latest when it would need more than is left.
  EXPECT_LT(log_bytes_most, (6u << 20) + (256u << 10));
  std::filesystem::remove(ballast);
  const int before = count;
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (count < before + 100 && Clock::now() < until) static_cast<void>(commit_one());
  EXPECT_EQ(count, before + 100);
  // Another program takes the rest; the next process reports it, or works, and works with room again.
  store_ = nullptr;
  disk.fill();
  const auto full = Store::open(file, {});
  EXPECT_TRUE(full || full.error().detail.find("free some space") != std::string::npos)
      << (full ? "" : to_string(full.error()));
  disk.make_room();
  open_it();
  ASSERT_NE(store_, nullptr);
  EXPECT_TRUE(commit_one());
  EXPECT_EQ(raw(file, "SELECT count(*) FROM jobs"), std::to_string(count));
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(OpenTest, a_link_leads_to_the_same_owner_and_doorbell) {
  open_bench();
  const std::string link = (folder_.path() / "link.db").string();
  std::filesystem::create_symlink(path(), link);
  auto second = Store::open(link, {});
  ASSERT_TRUE(second) << to_string(second.error());
  const auto owned = (*second)->try_own();
  ASSERT_TRUE(owned);
  EXPECT_FALSE(*owned);
}

TEST_F(OpenTest, verify_reads_every_page) {
  open_bench();
  for (int i = 0; i < 50; ++i) submit("job-" + std::to_string(i));
  EXPECT_TRUE(sqlite().verify());
  store_.reset();
  // Damage inside a page that no start reads: the last one.
  std::string bytes = bytes_of(path());
  const auto root = std::stoul(raw("SELECT rootpage FROM sqlite_schema WHERE name = 'start_keys'"));
  for (std::size_t at = (root - 1) * limits::page_bytes; at < root * limits::page_bytes; ++at)
    bytes[at] = static_cast<char>(0xa5);
  write_bytes(path(), bytes);
  auto opened = Store::open(path(), {});
  ASSERT_TRUE(opened) << to_string(opened.error());
  const auto verified = (*opened)->verify();
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::corrupt);
}

}  // namespace pawl::store::sqlite
