// Connection: one session of a PostgreSQL server, and the only code that talks to libpq, beside the ear of the listener
// (bell.h).
//
// 1. A script of statements is sent at once, in pipeline mode, and its answers are read in order: one round trip.
// 2. Statements are prepared when they are first used, in the same round trip.
// 3. A connection that was lost stays so: whoever has it takes another one.
// 4. No text of it holds a password.
// 5. What the server warns of is noticed: a COMMIT that was not copied to its standby is done, with a warning.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "pawl/result.h"
#include "store/postgres/rows.h"
#include "store/postgres/wire.h"

namespace pawl::store::postgres {

// A constant of the program: its address is what a connection knows it by. All of them are known, so that a test can
// look at the plan of each.
struct Statement {
  Statement(const char* its_name, const char* its_sql) : name(its_name), sql(its_sql), next(first) { first = this; }
  // One that is made while the program runs, and is in no list.
  enum class Listed : std::uint8_t { no };
  Statement(const char* its_name, const char* its_sql, Listed) : name(its_name), sql(its_sql), next(nullptr) {}
  Statement(const Statement&) = delete;
  const char* const name;
  const char* const sql;
  const Statement* const next;  // made before it
  static const Statement* first;
};

class Script {
 public:
  // Its place among the answers.
  std::size_t add(const Statement& statement, Params params = {}) {
    steps_.push_back({&statement, std::move(params)});
    return steps_.size() - 1;
  }
  bool empty() const { return steps_.empty(); }
  std::size_t size() const { return steps_.size(); }

 private:
  friend class Connection;
  struct Step {
    const Statement* statement;
    Params params;
  };
  std::vector<Step> steps_;
};

// Why a script was not done as a whole.
struct Failure {
  enum class Kind : std::uint8_t {
    lost,     // the connection: nobody knows how far the server came
    refused,  // by the server: nothing behind that statement was done
  };
  Kind kind = Kind::lost;
  std::string state;  // the five characters of SQLSTATE
  std::string message;
  std::size_t at = 0;  // of a refusal: which statement of the script
};

using Answers = std::vector<Rows>;

class Done {
 public:
  Done(Answers answers) : answers_(std::move(answers)) {}
  Done(Failure failure) : failure_(std::move(failure)) {}
  explicit operator bool() const { return !failure_; }
  Rows& operator[](std::size_t at) { return answers_[at]; }
  const Failure& failure() const { return *failure_; }

 private:
  Answers answers_;
  std::optional<Failure> failure_;
};

// Where a store is, and what its sessions have in common.
struct Address {
  std::string text;  // postgres://..., or libpq's key = value
  std::string schema;
  std::chrono::milliseconds statement_wait{0};
  std::chrono::milliseconds lock_wait{0};
  std::chrono::milliseconds transaction_idle_max{0};
};

struct Tally {
  std::uint64_t round_trips = 0;
  std::uint64_t statements = 0;
};

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const Address& address);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  Done run(const Script& script);
  Done run(const Statement& statement, Params params = {});
  // Text without values, perhaps of several statements, outside of the pipeline: the layout and the settings.
  Status execute(const std::string& sql);
  // The first value of the first row of such a text.
  Result<std::string> ask(const std::string& sql);

  bool is_lost() const { return PQstatus(handle_) != CONNECTION_OK; }
  int server_pid() const { return PQbackendPID(handle_); }
  const Tally& tally() const { return tally_; }
  PGconn* handle() { return handle_; }
  // What the server warned of in the last script; empty: of nothing.
  const std::string& warning() const { return warning_; }
  // Which history of the server this session belongs to (tail.h).
  std::uint64_t timeline() const { return timeline_; }
  void set_timeline(std::uint64_t timeline) { timeline_ = timeline; }

 private:
  Connection(PGconn* handle, std::vector<std::string> secrets);
  static void take_notice(void* connection, const PGresult* notice);
  bool send(const Script& script);
  Failure failure_of(const PGresult* result) const;
  Failure lost() const;

  PGconn* handle_;
  const std::vector<std::string> secrets_;
  std::unordered_set<const Statement*> prepared_;
  std::vector<bool> prepares_;  // which steps of the script under way are behind a preparation
  Tally tally_;
  std::string warning_;
  std::uint64_t timeline_ = 0;
};

// A libpq connection by the address, not set up. The error holds no password.
struct Opened {
  PGconn* handle = nullptr;
  std::vector<std::string> secrets;
};
Result<Opened> connect(const Address& address);

// What the store's sessions are set to. `set`: "SET", or "SET LOCAL" until the end of a transaction.
std::string settings_of(const Address& address, const std::string& set = "SET");

// A name as SQL takes it, whatever is in it.
std::string quoted_name(const std::string& name);

// What a failure means to whoever asked for something that was not committed.
ErrorCode code_of(const Failure& failure);
Error error_of(const Failure& failure);
// A value or a rule of the database was broken: the same operation will be refused again.
bool is_poison(const Failure& failure);

extern const Statement begin_statement, commit_statement, rollback_statement;
extern const Statement begin_reading_statement;  // all reads until the commit see one moment

}  // namespace pawl::store::postgres
