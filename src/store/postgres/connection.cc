#include "store/postgres/connection.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"
#include "base/invariant.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

constinit const Statement* Statement::first = nullptr;

const Statement begin_statement{"pawl_begin", "BEGIN"};
const Statement commit_statement{"pawl_commit", "COMMIT"};
const Statement rollback_statement{"pawl_rollback", "ROLLBACK"};
const Statement begin_reading_statement{"pawl_begin_reading", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};

namespace {

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ClearResult>;

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

void ignore_notice(void*, const PGresult*) {}

bool is_good(ExecStatusType status) { return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK; }

std::string millis(std::chrono::milliseconds time) { return std::to_string(time.count()); }

}  // namespace

// The settings make every statement find its rows by an index, for any table size and any statistics. Plans are
// generic: made once for all values.
std::string settings_of(const Address& address, const std::string& set) {
  std::string text;
  for (const std::string& one :
       {"search_path TO " + quoted_name(address.schema), std::string("plan_cache_mode TO force_generic_plan"),
        std::string("enable_seqscan TO off"), std::string("enable_hashjoin TO off"),
        std::string("enable_mergejoin TO off"), std::string("enable_material TO off"), std::string("jit TO off"),
        std::string("bytea_output TO hex"), "statement_timeout TO " + millis(address.statement_wait),
        "lock_timeout TO " + millis(address.lock_wait),
        "idle_in_transaction_session_timeout TO " + millis(address.transaction_idle_max)})
    text += set + " " + one + ";";
  return text;
}

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + '"';
}

Result<Opened> connect(const Address& address) {
  Opened opened;
  char* ignored = nullptr;  // libpq's own message may contain the address with its password
  PQconninfoOption* parsed = PQconninfoParse(address.text.c_str(), &ignored);
  PQfreemem(ignored);
  if (parsed == nullptr)
    return Error{
        ErrorCode::invalid,
        "the address of the PostgreSQL store cannot be read; write postgres://user@host:port/database?parameter=value,"
        " with %-escapes for special characters"};
  for (const PQconninfoOption* one = parsed; one->keyword != nullptr; ++one) {
    const std::string_view name = one->keyword;
    if ((name == "password" || name == "sslpassword") && one->val != nullptr && *one->val != '\0')
      opened.secrets.emplace_back(one->val);
  }
  PQconninfoFree(parsed);
  const std::string wait = std::to_string(limits::connect_wait.count());
  const std::string idle = std::to_string(limits::keepalive_idle.count());
  const std::string dead = millis(limits::dead_peer_after);
  // Settings in the address come later and override these.
  const char* names[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                         "keepalives_count", "tcp_user_timeout", "fallback_application_name",
                         "dbname",           "client_encoding",  nullptr};
  const char* values[] = {wait.c_str(), idle.c_str(),         idle.c_str(), "2",    dead.c_str(),
                          "pawl",       address.text.c_str(), "UTF8",       nullptr};
  opened.handle = PQconnectdbParams(names, values, 1);
  if (opened.handle == nullptr) return Error{ErrorCode::retry_later, "there is no memory for a connection"};
  PQsetNoticeReceiver(opened.handle, ignore_notice, nullptr);
  if (PQstatus(opened.handle) == CONNECTION_OK) return opened;
  std::string why = without_secrets(PQerrorMessage(opened.handle), opened.secrets);
  PQfinish(opened.handle);
  return Error{ErrorCode::retry_later, format("PostgreSQL cannot be reached: {}", why)};
}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address) {
  auto opened = connect(address);
  if (!opened) return opened.error();
  std::unique_ptr<Connection> connection(new Connection(opened->handle, std::move(opened->secrets)));
  const auto set = connection->execute(settings_of(address));
  if (!set) return set.error();
  if (PQenterPipelineMode(connection->handle_) != 1)
    return Error{ErrorCode::unsupported, "this libpq has no pipeline mode: version 14 or newer is needed"};
  return connection;
}

Connection::Connection(PGconn* handle, std::vector<std::string> secrets)
    : handle_(handle), secrets_(std::move(secrets)) {
  PQsetNoticeReceiver(handle_, &Connection::take_notice, this);
}
Connection::~Connection() { PQfinish(handle_); }

void Connection::take_notice(void* connection, const PGresult* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  const std::string_view kind = severity == nullptr ? "" : severity;
  auto& told = *static_cast<Connection*>(connection);
  if (kind == "WARNING") told.warning_ = text == nullptr || *text == '\0' ? "a warning without text" : text;
  // A server that is stopped immediately sends only a warning.
  const bool is_last = kind == "FATAL" || (state != nullptr && std::string_view(state).starts_with("57P"));
  if (is_last) told.last_word_ = state == nullptr ? "" : state;
}

Failure Connection::failure_of(const PGresult* result) const {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr) return lost();
  return {Failure::Kind::refused, state, without_secrets(primary == nullptr ? "" : primary, secrets_)};
}

Failure Connection::lost() const {
  return {Failure::Kind::lost, "", without_secrets(PQerrorMessage(handle_), secrets_)};
}

bool Connection::send(const Script& script) {
  prepares_.assign(script.size(), false);
  std::unordered_set<const Statement*> on_the_way;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (std::size_t i = 0; i < script.size(); ++i) {
    const Script::Step& step = script.steps_[i];
    if (!prepared_.contains(step.statement) && on_the_way.insert(step.statement).second) {
      if (PQsendPrepare(handle_, step.statement->name, step.statement->sql, 0, nullptr) != 1) return false;
      prepares_[i] = true;
    }
    values.clear();
    lengths.clear();
    for (const Params::Value& value : step.params.values()) {
      values.push_back(value.null ? nullptr : value.bytes.data());
      lengths.push_back(static_cast<int>(value.bytes.size()));
    }
    formats.assign(values.size(), 1);
    if (PQsendQueryPrepared(handle_, step.statement->name, static_cast<int>(values.size()), values.data(),
                            lengths.data(), formats.data(), 1) != 1)
      return false;
  }
  return PQpipelineSync(handle_) == 1;
}

Done Connection::run(const Script& script) {
  warning_.clear();
  ++tally_.round_trips;
  tally_.statements += script.size();
  if (!send(script)) return lost();
  Answers answers(script.size());
  std::optional<Failure> failure;
  // One result, and the NULL that follows it.
  const auto take = [&]() -> ResultPtr {
    ResultPtr result(PQgetResult(handle_));
    if (result)
      while (PGresult* more = PQgetResult(handle_)) PQclear(more);
    return result;
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    for (int part = prepares_[i] ? 0 : 1; part < 2; ++part) {
      ResultPtr result = take();
      if (!result) return failure ? *failure : lost();
      const ExecStatusType status = PQresultStatus(result.get());
      if (is_good(status)) {
        if (part == 0)
          prepared_.insert(script.steps_[i].statement);
        else
          answers[i] = Rows(result.release());
      } else if (!failure && status != PGRES_PIPELINE_ABORTED) {
        failure = failure_of(result.get());
        failure->at = i;
      }
    }
  }
  const ResultPtr synced(PQgetResult(handle_));
  if (failure) return *failure;
  if (!synced || PQresultStatus(synced.get()) != PGRES_PIPELINE_SYNC) return lost();
  return answers;
}

Done Connection::run(const Statement& statement, Params params) {
  Script script;
  script.add(statement, std::move(params));
  return run(script);
}

Status Connection::execute(const std::string& sql) {
  const auto answer = ask(sql);
  if (!answer) return answer.error();
  return {};
}

Result<std::string> Connection::ask(const std::string& sql) {
  const bool pipelined = PQpipelineStatus(handle_) != PQ_PIPELINE_OFF;
  if (pipelined && PQexitPipelineMode(handle_) != 1) return error_of(lost());
  const ResultPtr result(PQexec(handle_, sql.c_str()));
  if (pipelined) PQenterPipelineMode(handle_);
  const ExecStatusType status = PQresultStatus(result.get());
  if (!is_good(status) && status != PGRES_EMPTY_QUERY) return error_of(result ? failure_of(result.get()) : lost());
  if (PQntuples(result.get()) == 0 || PQnfields(result.get()) == 0) return std::string();
  return std::string(PQgetvalue(result.get(), 0, 0));
}

namespace {

bool has_class(const Failure& failure, std::string_view state_class) {
  return std::string_view(failure.state).starts_with(state_class);
}

}  // namespace

bool is_poison(const Failure& failure) {
  if (failure.kind != Failure::Kind::refused) return false;
  // Errors of data, of constraints, and values larger than the server accepts.
  return has_class(failure, "22") || has_class(failure, "23") || has_class(failure, "54");
}

ErrorCode code_of(const Failure& failure) {
  if (failure.kind == Failure::Kind::lost) return ErrorCode::retry_later;
  // Races, missing resources, a shutdown by an operator or the system, a lost session, an aborted transaction.
  for (const char* passing : {"40", "53", "55", "57", "58", "08", "25"})
    if (has_class(failure, passing)) return ErrorCode::retry_later;
  if (has_class(failure, "XX")) return ErrorCode::corrupt;
  // Missing rights, missing tables, wrong SQL: a person must fix it. The requested operation was not done.
  return ErrorCode::retry_later;
}

Error error_of(const Failure& failure) {
  const char* lead =
      failure.kind == Failure::Kind::lost ? "the connection to PostgreSQL was lost" : "PostgreSQL refused";
  std::string detail = failure.message.empty() ? lead : format("{}: {}", lead, failure.message);
  if (!failure.state.empty()) detail += format(" ({})", failure.state);
  if (failure.state == "25006")
    detail +=
        "; it is a replica, or set to take no writes: name the primary, or set default_transaction_read_only to off";
  if (failure.state == "42501")
    detail += "; the role lacks a right that a run needs: as the owner of the schema run pawl init with --run-role";
  return Error{code_of(failure), std::move(detail)};
}

}  // namespace pawl::store::postgres
