#include "cli/job_target.h"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <cstdlib>

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

// What a command with --store and --url means, given these flags and variables.
StoreOptions meant(const std::string& flags, const char* url, const char* store) {
  url == nullptr ? unsetenv("PAWL_URL") : setenv("PAWL_URL", url, 1);
  store == nullptr ? unsetenv("PAWL_STORE") : setenv("PAWL_STORE", store, 1);
  StoreOptions options;
  CLI::App app;
  CLI::App* command = app.add_subcommand("jobs");
  add_remote_options(*command, options);
  app.parse("jobs " + flags);
  return options;
}

TEST(RemoteOptions, a_flag_counts_before_the_variable_of_the_other_kind) {
  EXPECT_EQ(meant("", nullptr, nullptr).shown(), "pawl.db");
  EXPECT_EQ(meant("", nullptr, "env.db").shown(), "env.db");
  EXPECT_EQ(meant("", "http://env", "env.db").shown(), "http://env");
  EXPECT_EQ(meant("--store flag.db", "http://env", "env.db").shown(), "flag.db");
  EXPECT_EQ(meant("--url http://flag", "http://env", "env.db").shown(), "http://flag");
  EXPECT_EQ(meant("--url http://flag", nullptr, "env.db").shown(), "http://flag");
  EXPECT_THROW(meant("--store flag.db --url http://flag", nullptr, nullptr), CLI::ParseError);
}

}  // namespace
}  // namespace pawl::cli
