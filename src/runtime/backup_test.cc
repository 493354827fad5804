#include "runtime/backup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/format.h"

namespace pawl::runtime {
namespace {

namespace fs = std::filesystem;

class Backup : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / format("pawl-backup-{}", getpid());
    fs::remove_all(folder);
    fs::create_directories(folder);
    RuntimeOptions options;
    options.store = (folder / "jobs.db").string();
    auto opened = open_store(options, process_clock());
    ASSERT_TRUE(opened.ok()) << opened.error().detail;
    store = std::make_unique<OpenedStore>(std::move(*opened));
  }
  void TearDown() override {
    store.reset();
    fs::remove_all(folder);
  }
  std::set<std::string> copies() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("copy")) names.insert(entry.path().filename().string());
    return names;
  }
  std::string path() const { return (folder / "copy.db").string(); }

  fs::path folder;
  std::unique_ptr<OpenedStore> store;
};

TEST_F(Backup, leaves_the_copy_and_nothing_beside_it) {
  const auto done = back_up(*store, path(), process_clock());
  ASSERT_TRUE(done.ok()) << done.error().detail;
  EXPECT_EQ(copies(), std::set<std::string>{"copy.db"});
  const auto again = back_up(*store, path(), process_clock());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::already_exists);
}

TEST_F(Backup, has_its_name_only_once_it_is_whole_and_verified) {
  const auto copy = store->backup;
  store->backup = [&](const std::string& to) -> Status {
    EXPECT_EQ(to, path() + ".part");
    if (const auto copied = copy(to); !copied) return copied;
    EXPECT_FALSE(fs::exists(path()));
    std::ofstream(to, std::ios::in | std::ios::out).seekp(200) << std::string(20'000, 'x');  // it is damaged
    return {};
  };
  EXPECT_FALSE(back_up(*store, path(), process_clock()).ok());
  EXPECT_TRUE(copies().empty()) << "a copy that is not whole does not stay";
  store->backup = copy;
  EXPECT_TRUE(back_up(*store, path(), process_clock()).ok());
}

TEST_F(Backup, does_not_touch_one_that_is_under_way) {
  std::ofstream(path() + ".part") << "half";
  const auto second = back_up(*store, path(), process_clock());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::already_exists);
  EXPECT_NE(second.error().detail.find("copy.db.part"), std::string::npos) << second.error().detail;
  EXPECT_EQ(copies(), std::set<std::string>{"copy.db.part"});
}

}  // namespace
}  // namespace pawl::runtime
