#include "cli/job_target.h"

#include <gtest/gtest.h>

namespace pawl::cli {
namespace {

std::string shown(const std::string& store) {
  StoreOptions options;
  options.store = store;
  return options.shown();
}

TEST(StoreOptions, shows_a_store_as_it_was_named) {
  for (const char* store : {"pawl.db", ":memory:", "folder/a:b@c.db", "postgres://db.example:5432/jobs",
                            "redis://pawl@127.0.0.1:6379", "redis+unix:///run/redis/socket", "redis-cluster://a:1,b:2"})
    EXPECT_EQ(shown(store), store);
}

TEST(StoreOptions, shows_no_password) {
  EXPECT_EQ(shown("postgres://pawl:secret@db.example:5432/jobs"), "postgres://pawl@db.example:5432/jobs");
  EXPECT_EQ(shown("redis://:secret@127.0.0.1:6379"), "redis://@127.0.0.1:6379");
  EXPECT_EQ(shown("redis-cluster://pawl:secret@a:1,b:2"), "redis-cluster://pawl@a:1,b:2");
  EXPECT_EQ(shown("postgres://db/jobs?user=pawl&password=secret&sslmode=require"),
            "postgres://db/jobs?user=pawl&password=...&sslmode=require");
  for (const char* store : {"redis://:sec/ret@host", "redis://:sec@ret@host", "postgres:///jobs?sslpassword=secret"})
    EXPECT_EQ(shown(store).find("ret"), std::string::npos) << shown(store);
}

}  // namespace
}  // namespace pawl::cli
