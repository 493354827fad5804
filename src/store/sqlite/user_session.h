// UserSession: a connection that a worker's own SQL and the store use in turns. During the worker's turn an authorizer
// refuses what would end the transaction or touch the store's tables, and a clock ends what takes too long.
//
// The worker may have the handle itself, so several threads may use it at once, and a session that was given up is shut
// permanently.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "pawl/transaction.h"
#include "store/sqlite/own_names.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

class UserSession {
 public:
  using Time = std::chrono::steady_clock::time_point;

  UserSession(std::unique_ptr<Writer> writer, std::shared_ptr<const OwnNames> names);
  UserSession(const UserSession&) = delete;
  UserSession& operator=(const UserSession&) = delete;
  ~UserSession();

  Writer& writer() { return *writer_; }
  sqlite3* handle() const { return writer_->connection().handle(); }

  void let_user(Time until);                   // the transaction is open: it is the worker's turn
  void let_store();                            // it is the store's turn
  void let_nobody() { turn_ = Turn::nobody; }  // until the next transaction
  // Permanently, because the worker may still have the handle. What the worker had written is undone.
  void shut();
  bool is_late() const {
    return std::chrono::steady_clock::now() >= until_.load();
  }  // the time of its transaction is over
  // Whether the worker left nothing behind: then the session can be used again.
  bool is_clean() const;

  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params);

 private:
  enum class Turn : std::uint8_t { store, user, nobody };
  static int authorize(void* self, int action, const char* first, const char* second, const char* database,
                       const char* inner);
  static int look_at_time(void* self);
  bool is_refused(int action, std::string_view first, std::string_view second, std::string_view inner);
  Error error_of(int code, const char* doing);

  const std::unique_ptr<Writer> writer_;
  const std::shared_ptr<const OwnNames> names_;
  std::atomic<Turn> turn_{Turn::store};
  std::atomic<Time> until_{};
  std::atomic<std::thread::id> shutter_{};  // the thread that shut it; none: it is in use
  std::string refusal_;                     // the authorizer's last refusal
};

}  // namespace pawl::store::sqlite
