// pawl::move_store: opens the two stores, and moves one into the other (store/transfer/move.h).
#include "pawl/move.h"

#include <filesystem>
#include <memory>

#include "base/format.h"
#include "base/shown_store.h"
#include "runtime/open_store.h"
#include "store/postgres/transfer.h"
#include "store/redis/transfer.h"
#include "store/sqlite/transfer.h"
#include "store/transfer/move.h"

namespace pawl {

namespace {

using runtime::StoreKind;

// A move that is repeated from another folder is the same one.
std::string name_of_store(const std::string& store, StoreKind kind) {
  if (kind != StoreKind::sqlite) return shown_store(store);
  std::error_code ignored;
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(store, ignored), ignored);
  return path.empty() ? store : path.string();
}

Result<StoreKind> kind_of(const std::string& store) {
  const auto kind = runtime::kind_of_store(store);
  if (kind && *kind == StoreKind::memory)
    return Error{ErrorCode::invalid, "a store in memory ends with its process: it cannot be moved"};
  return kind;
}

store::postgres::Options postgres_options(bool accept_weaker) {
  store::postgres::Options options;
  if (accept_weaker) options.durability = store::postgres::Durability::as_configured;
  return options;
}
store::redis::Options redis_options(bool accept_weaker) {
  store::redis::Options options;
  options.accept_weaker = accept_weaker;
  return options;
}

Result<std::unique_ptr<store::transfer::Source>> open_source(const MoveOptions& options, StoreKind kind) {
  if (kind == StoreKind::postgres)
    return store::postgres::open_source(options.from, postgres_options(options.accept_weaker_store));
  if (kind == StoreKind::redis)
    return store::redis::open_source(options.from, redis_options(options.accept_weaker_store));
  return store::sqlite::open_source(options.from, {});
}

Result<std::unique_ptr<store::transfer::Target>> open_target(const MoveOptions& options, StoreKind kind) {
  if (kind == StoreKind::postgres)
    return store::postgres::open_target(options.to, postgres_options(options.accept_weaker_store));
  if (kind == StoreKind::redis)
    return store::redis::open_target(options.to, redis_options(options.accept_weaker_store));
  return store::sqlite::open_target(options.to, {});
}

MoveReport report_of(const store::transfer::Moved& moved) {
  MoveReport report;
  for (std::size_t kind = 0; kind < store::transfer::kinds; ++kind) {
    const store::transfer::Sum& sum = moved.sums.of(kind);
    if (sum.records > 0)
      report.kinds.push_back({std::string(store::transfer::kind_names[kind]), sum.records, sum.text()});
  }
  report.records = moved.sums.records();
  report.bytes = moved.sums.bytes();
  report.delivered = moved.delivered;
  return report;
}

}  // namespace

Result<MoveReport> move_store(const MoveOptions& options) {
  const auto from = kind_of(options.from);
  const auto to = kind_of(options.to);
  if (!from) return from.error();
  if (!to) return to.error();
  const std::string from_name = name_of_store(options.from, *from);
  const std::string to_name = name_of_store(options.to, *to);
  if (from_name == to_name) return Error{ErrorCode::invalid, format("{} is both the source and the target", from_name)};
  auto source = open_source(options, *from);
  if (!source) return source.error();
  auto target = open_target(options, *to);
  if (!target) return target.error();
  const auto moved =
      store::transfer::run({**source, **target, from_name, to_name, [&](const store::transfer::Progress& at) -> Status {
                              const bool checking = at.phase == store::transfer::Progress::Phase::check;
                              const MoveProgress progress{checking, at.jobs, at.jobs_total, at.records, at.bytes};
                              if (!options.on_progress || options.on_progress(progress)) return {};
                              return Error{ErrorCode::retry_later, "the move was ended by its caller; run it again"};
                            }});
  if (!moved) return moved.error();
  return report_of(*moved);
}

Status undo_move(const UndoMoveOptions& options) {
  const auto& [store, accept_weaker_store] = options;
  const auto kind = kind_of(store);
  if (!kind) return kind.error();
  if (*kind == StoreKind::postgres) return store::postgres::undo_move(store, postgres_options(accept_weaker_store));
  if (*kind == StoreKind::redis) return store::redis::undo_move(store, redis_options(accept_weaker_store));
  return store::sqlite::undo_move(store, {});
}

}  // namespace pawl
