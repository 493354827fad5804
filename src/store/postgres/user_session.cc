#include "store/postgres/user_session.h"

#include <utility>

#include "base/format.h"
#include "store/postgres/user_statement.h"

namespace pawl::store::postgres {

namespace {

constexpr const char* idled_too_long = "25P03";  // idle_in_transaction_session_timeout
constexpr const char* lost_text = "the connection to PostgreSQL was lost, and the transaction with it";

// The row in pawl_guard refers to a row that does not exist. So no COMMIT succeeds until it is deleted.
constexpr const char* make_guard =
    "CREATE TEMPORARY TABLE IF NOT EXISTS pawl_never (token int PRIMARY KEY);"
    "CREATE TEMPORARY TABLE IF NOT EXISTS pawl_guard (token int REFERENCES pawl_never DEFERRABLE INITIALLY DEFERRED)";
constexpr const char* raise_guard = "INSERT INTO pg_temp.pawl_guard VALUES (1);";
// Divides by zero if the row is not there: then this is another transaction.
constexpr const char* lower_guard =
    "WITH gone AS (DELETE FROM pg_temp.pawl_guard RETURNING 1) SELECT 1 / count(*) FROM gone; SET CONSTRAINTS ALL "
    "IMMEDIATE;";

// Removes everything that an earlier worker left. Outside of a read-write transaction the session cannot write.
constexpr const char* clear_session =
    "RESET SESSION AUTHORIZATION; RESET ALL; UNLISTEN *; CLOSE ALL; SELECT pg_advisory_unlock_all();";
constexpr const char* read_only_outside = "SET default_transaction_read_only TO on";

constexpr const char* users_settings =
    "BEGIN READ WRITE; SET LOCAL search_path TO DEFAULT; SET LOCAL plan_cache_mode TO DEFAULT; SET LOCAL "
    "enable_seqscan TO DEFAULT;"
    "SET LOCAL enable_hashjoin TO DEFAULT; SET LOCAL enable_mergejoin TO DEFAULT; SET LOCAL enable_material TO DEFAULT;"
    "SET LOCAL jit TO DEFAULT;";

bool has_class(const char* state, const char* state_class) {
  return state != nullptr && std::string_view(state).starts_with(state_class);
}

}  // namespace

Result<std::unique_ptr<UserSession>> UserSession::open(const Address& address, Tail& tail) {
  auto connection = Connection::open(address);
  if (!connection) return connection.error();
  if (const Status admitted = tail.admit(**connection); !admitted) return admitted.error();
  std::unique_ptr<UserSession> session(new UserSession(address, std::move(*connection)));
  if (PQexitPipelineMode(session->handle()) != 1) return Error{ErrorCode::retry_later, lost_text};
  if (const Status made = session->run(make_guard); !made)
    return Error{made.error().code,
                 made.error().detail + "; a worker's transaction needs the right TEMPORARY on the database"};
  return session;
}

Status UserSession::begin(Duration time) {
  must_give_way_ = false;
  if (const Status cleared = run(clear_session + settings_of(address_) + read_only_outside); !cleared) return cleared;
  std::string times;
  for (const char* name : {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"})
    times += format("SET LOCAL {} TO {};", name, time.count() / 1000);
  return run(std::string(users_settings) + times + raise_guard);
}

Status UserSession::run(const std::string& sql) {
  const ResultPtr result(PQexec(handle(), sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return {};
  const Error error = error_of(result.get());
  return Error{ErrorCode::retry_later, error.detail};
}

Error UserSession::error_of(const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr || connection_->is_lost()) return {ErrorCode::retry_later, lost_text};
  must_give_way_ = must_give_way_ || has_class(state, "40");
  return {ErrorCode::invalid, format("PostgreSQL refused it: {} ({})", primary == nullptr ? "" : primary, state)};
}

Result<SqlRows> UserSession::execute(std::string_view sql, std::span<const SqlValue> params) {
  if (const Status may = check_statement(sql); !may) return may.error();
  return run_statement(handle(), sql, params, [this](const PGresult* result) { return error_of(result); });
}

// Reads messages that the server sent without a request, above all that it ends the session: a closed session looks
// open until somebody reads from it.
void UserSession::read_last_word() const {
  if (PQtransactionStatus(handle()) == PQTRANS_ACTIVE || PQpipelineStatus(handle()) != PQ_PIPELINE_OFF) return;
  for (int reads = 0; reads < 2; ++reads) {  // the messages, and then the end of the connection
    PQconsumeInput(handle());
    PQisBusy(handle());  // parses the input
  }
}

Status UserSession::sound() const {
  read_last_word();
  if (connection_->last_word() == idled_too_long)
    return Error{ErrorCode::invalid, "the worker left the transaction idle for too long, so the server undid it"};
  const PGTransactionStatusType status = PQtransactionStatus(handle());
  if (connection_->is_lost() || !connection_->last_word().empty() || status == PQTRANS_UNKNOWN)
    return Error{ErrorCode::retry_later, lost_text};
  if (must_give_way_) return Error{ErrorCode::retry_later, "PostgreSQL ended the transaction in favour of another one"};
  if (status == PQTRANS_INERROR)
    return Error{ErrorCode::invalid, "a statement of the transaction failed, so nothing of it can be committed"};
  if (status == PQTRANS_ACTIVE || PQpipelineStatus(handle()) != PQ_PIPELINE_OFF)
    return Error{ErrorCode::invalid, "the worker returned while a command was under way on the session's handle"};
  if (status == PQTRANS_IDLE)
    return Error{ErrorCode::invalid,
                 "the worker ended the transaction by the session's handle: it is the store's to commit"};
  return {};
}

Status UserSession::let_store() {
  if (const Status left = sound(); !left) return left;
  const std::string sql =
      "SET LOCAL SESSION AUTHORIZATION DEFAULT;" + (lower_guard + settings_of(address_, "SET LOCAL"));
  const ResultPtr result(PQexec(handle(), sql.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
    if (state != nullptr && std::string_view(state) == "22012")
      return Error{ErrorCode::invalid,
                   "the worker ended the transaction by the session's handle: it is the store's to commit"};
    Error error = error_of(result.get());
    // A violated rule of the user's tables is final. Other errors may go away.
    if (!has_class(state, "23")) error.code = ErrorCode::retry_later;
    return error;
  }
  if (PQenterPipelineMode(handle()) != 1) return Error{ErrorCode::retry_later, lost_text};
  return {};
}

Status UserSession::roll_back() {
  if (PQpipelineStatus(handle()) != PQ_PIPELINE_OFF && PQexitPipelineMode(handle()) != 1)
    return Error{ErrorCode::retry_later, lost_text};
  if (PQtransactionStatus(handle()) == PQTRANS_IDLE) return {};
  return run("ROLLBACK");
}

}  // namespace pawl::store::postgres
