// A job of `collation: duplex`, whole or one instance of it, within one snapshot.
#include <algorithm>

#include "base/format.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

// None: no such job, or a job of another collation.
Result<std::optional<core::JobRow>> Reader::read_duplex_row(RunId run) {
  {
    Rows rows = duplex_.is_duplex.query(run);
    const bool duplex = rows.next();
    if (rows.failed()) return error(rows);
    if (!duplex) return std::optional<core::JobRow>();
  }
  Rows rows = job_.query(run);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return Error{ErrorCode::corrupt, format("duplex job {} has no row", run.raw())};
  }
  auto job = job_row(rows);
  if (rows.failed()) return error(rows);
  if (!job) return job.error();
  return std::optional<core::JobRow>(std::move(*job));
}

Result<std::optional<DuplexView>> Reader::view_duplex(RunId run, const Place& place) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  auto job = read_duplex_row(run);
  if (!job) return job.error();
  if (!*job) return std::optional<DuplexView>();
  DuplexView view{std::move(**job), std::nullopt};
  view.job.result = Payload();
  Rows rows = duplex_.cell.query(run, place.node, place.at.text());
  if (rows.next()) {
    auto cell = duplex_cell(rows);
    if (!cell) return cell.error();
    view.cell = std::move(*cell);
  }
  if (rows.failed()) return error(rows);
  return std::optional<DuplexView>(std::move(view));
}

Status Reader::read_stream(RunId run, std::vector<ClaimedMessage>& out) {
  Rows rows = duplex_.stream.query(run);
  while (rows.next()) {
    auto message = claimed_message(rows);
    if (!message) return message.error();
    out.push_back(std::move(*message));
  }
  if (rows.failed()) return error(rows);
  return {};
}

Result<std::optional<DuplexJob>> Reader::read_duplex_under_way(RunId run) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  auto job = read_duplex_row(run);
  if (!job) return job.error();
  if (!*job) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = std::move(**job);
  out.job.result = Payload();
  if (const auto read = read_stream(run, out.stream); !read) return read.error();
  for (const Place& place : places_of(out.stream)) {
    Rows rows = duplex_.cell.query(run, place.node, place.at.text());
    if (rows.next()) {
      auto cell = duplex_cell(rows);
      if (!cell) return cell.error();
      out.cells.push_back(std::move(*cell));
    }
    if (rows.failed()) return error(rows);
  }
  return std::optional<DuplexJob>(std::move(out));
}

Result<std::optional<DuplexJob>> Reader::read_duplex(RunId run) {
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  auto job = read_duplex_row(run);
  if (!job) return job.error();
  if (!*job) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = std::move(**job);
  {
    Rows rows = duplex_.cells.query(run);
    while (rows.next()) {
      auto cell = duplex_cell(rows);
      if (!cell) return cell.error();
      out.cells.push_back(std::move(*cell));
    }
    if (rows.failed()) return error(rows);
  }
  {
    Rows rows = duplex_.addresses.query(run);
    while (rows.next()) {
      auto at = ledger::Dimensions::parse(rows.text(1));
      if (!at || rows.malformed())
        return Error{ErrorCode::corrupt, format("{}: an open address is malformed", name_of_job(out.job))};
      out.open.push_back(Place{rows.small(0), std::move(*at)});
    }
    if (rows.failed()) return error(rows);
    std::sort(out.open.begin(), out.open.end());
  }
  if (const auto read = read_stream(run, out.stream); !read) return read.error();
  return std::optional<DuplexJob>(std::move(out));
}

}  // namespace pawl::store::sqlite
