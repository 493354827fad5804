// Connection: one session with a PostgreSQL server. Only this code calls libpq, apart from the listening connection of
// bell.h.
//
// 1. A script of statements is sent at once in pipeline mode, and its answers are read in order: one round trip.
// 2. A statement is prepared at its first use, in the same round trip.
// 3. A lost connection stays lost: its user must take another one.
// 4. No text that it returns contains a password.
// 5. Warnings of the server are kept. A COMMIT that was not copied to the standby succeeds, but with a warning.
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

// A constant of the program. A connection identifies it by its address. All statements are listed, so that a test can
// check the plan of each one.
struct Statement {
  Statement(const char* its_name, const char* its_sql) : name(its_name), sql(its_sql), next(first) { first = this; }
  // For a statement that is made at run time and is not listed.
  enum class Listed : std::uint8_t { no };
  Statement(const char* its_name, const char* its_sql, Listed) : name(its_name), sql(its_sql), next(nullptr) {}
  Statement(const Statement&) = delete;
  const char* const name;
  const char* const sql;
  const Statement* const next;  // the statement made before this one
  static const Statement* first;
};

class Script {
 public:
  // Returns its index among the answers.
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

// Why a script was not completed.
struct Failure {
  enum class Kind : std::uint8_t {
    lost,     // the connection was lost: it is unknown how much the server did
    refused,  // the server refused a statement: it did nothing after it
  };
  Kind kind = Kind::lost;
  std::string state;  // the five characters of SQLSTATE
  std::string message;
  std::size_t at = 0;  // for a refusal: the index of the statement in the script
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

// Where a store is, and the settings that its sessions share.
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
  // SQL text without parameters, of one or more statements, outside of the pipeline. Used for the layout and the
  // settings.
  Status execute(const std::string& sql);
  // Returns the first value of the first row.
  Result<std::string> ask(const std::string& sql);

  bool is_lost() const { return PQstatus(handle_) != CONNECTION_OK; }
  int server_pid() const { return PQbackendPID(handle_); }
  const Tally& tally() const { return tally_; }
  PGconn* handle() { return handle_; }
  // The server's warning in the last script; empty: there was none.
  const std::string& warning() const { return warning_; }
  // The SQLSTATE with which the server ended this session while it was idle; empty: the server sent none.
  const std::string& last_word() const { return last_word_; }
  // The timeline of the server that this session belongs to (tail.h).
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
  std::vector<bool> prepares_;  // which steps of the current script follow a preparation
  Tally tally_;
  std::string warning_;
  std::string last_word_;
  std::uint64_t timeline_ = 0;
};

// Opens a libpq connection to the address, without the store's settings. The error contains no password.
struct Opened {
  PGconn* handle = nullptr;
  std::vector<std::string> secrets;
};
Result<Opened> connect(const Address& address);

// The settings of the store's sessions. `set`: "SET", or "SET LOCAL" until the end of a transaction.
std::string settings_of(const Address& address, const std::string& set = "SET");

// Quotes any name as an SQL identifier.
std::string quoted_name(const std::string& name);

// The error code for a caller whose operation failed this way and was not committed.
ErrorCode code_of(const Failure& failure);
Error error_of(const Failure& failure);
// A value or a rule of the database was violated: the same operation will be refused again.
bool is_poison(const Failure& failure);

extern const Statement begin_statement, commit_statement, rollback_statement;
extern const Statement begin_reading_statement;  // all reads until the commit see the same snapshot

}  // namespace pawl::store::postgres
