// A job of `collation: duplex`, whole or one instance of it, from one snapshot.
#include <algorithm>

#include "base/format.h"
#include "store/postgres/duplex_columns.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

const Statement read_duplex_row{"read_duplex_row",
                                "SELECT " PAWL_JOB_COLUMNS
                                " FROM jobs WHERE run = $1::bigint"
                                " AND EXISTS (SELECT 1 FROM duplex_jobs d WHERE d.run = $1::bigint)"};
const Statement read_cells{"read_cells",
                           "SELECT " PAWL_CELL_COLUMNS " FROM duplex_cells WHERE run = $1::bigint ORDER BY position"};
const Statement read_cells_at{"read_cells_at",
                              "SELECT " PAWL_CELL_COLUMNS
                              " FROM duplex_cells WHERE run = $1::bigint AND (node, place) IN"
                              " (SELECT u.node, u.place FROM unnest($2::bigint[], $3::text[]) AS u(node, place))"};
const Statement read_open{"read_open_addresses",
                          "SELECT node, place FROM duplex_addresses WHERE run = $1::bigint AND open"};
const Statement read_stream{"read_stream",
                            "SELECT " PAWL_STREAM_COLUMNS
                            " FROM duplex_stream WHERE run = $1::bigint AND done <> 1 ORDER BY position"};

Result<std::optional<core::JobRow>> row_of(Rows& rows) {
  if (!rows.next()) return std::optional<core::JobRow>();
  auto job = job_row(rows);
  if (!job) return job.error();
  return std::optional<core::JobRow>(std::move(*job));
}

Status take_cells(Rows& rows, std::vector<DuplexCell>& out) {
  while (rows.next()) {
    auto cell = duplex_cell(rows);
    if (!cell) return cell.error();
    out.push_back(std::move(*cell));
  }
  return {};
}

Status take_stream(Rows& rows, std::vector<ClaimedMessage>& out) {
  while (rows.next()) {
    auto message = claimed_message(rows);
    if (!message) return message.error();
    out.push_back(std::move(*message));
  }
  return {};
}

}  // namespace

Result<std::optional<DuplexView>> Reader::view_duplex(RunId run, const Place& place) {
  Batch at;
  at.row(place.node, place.at.text());
  Params params = Params::of(run);
  for (const wire::Array& column : at.columns()) params.add(column);
  Script script = reading();
  script.add(read_duplex_row, Params::of(run));
  script.add(read_cells_at, std::move(params));
  Done done = read_together(script);
  if (!done) return error_of(done.failure());
  auto job = row_of(done[1]);
  if (!job) return job.error();
  if (!*job) return std::optional<DuplexView>();
  DuplexView view{std::move(**job), std::nullopt};
  view.job.result = Payload();
  std::vector<DuplexCell> cells;
  if (const auto read = take_cells(done[2], cells); !read) return read.error();
  if (!cells.empty()) view.cell = std::move(cells.front());
  return std::optional<DuplexView>(std::move(view));
}

Result<std::optional<DuplexJob>> Reader::read_duplex_under_way(RunId run) {
  Script script = reading();
  script.add(read_duplex_row, Params::of(run));
  script.add(read_stream, Params::of(run));
  Done done = connection_.run(script);
  const auto read = [&]() -> Result<std::optional<DuplexJob>> {
    if (!done) return error_of(done.failure());
    auto job = row_of(done[1]);
    if (!job) return job.error();
    if (!*job) return std::optional<DuplexJob>();
    DuplexJob out;
    out.job = std::move(**job);
    out.job.result = Payload();
    if (const auto taken = take_stream(done[2], out.stream); !taken) return taken.error();
    Batch places;
    for (const Place& place : places_of(out.stream)) places.row(place.node, place.at.text());
    if (places.empty()) return std::optional<DuplexJob>(std::move(out));
    Params params = Params::of(run);
    for (const wire::Array& column : places.columns()) params.add(column);
    Done cells = connection_.run(read_cells_at, std::move(params));
    if (!cells) return error_of(cells.failure());
    if (const auto taken = take_cells(cells[0], out.cells); !taken) return taken.error();
    std::sort(out.cells.begin(), out.cells.end(),
              [](const DuplexCell& a, const DuplexCell& b) { return a.place < b.place; });
    return std::optional<DuplexJob>(std::move(out));
  };
  auto found = read();
  if (!connection_.is_lost()) connection_.run(rollback_statement);
  return found;
}

Result<std::optional<DuplexJob>> Reader::read_duplex(RunId run) {
  Script script = reading();
  for (const Statement* statement : {&read_duplex_row, &read_cells, &read_open, &read_stream})
    script.add(*statement, Params::of(run));
  Done done = read_together(script);
  if (!done) return error_of(done.failure());
  auto job = row_of(done[1]);
  if (!job) return job.error();
  if (!*job) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = std::move(**job);
  if (const auto read = take_cells(done[2], out.cells); !read) return read.error();
  while (done[3].next()) {
    auto at = ledger::Dimensions::parse(done[3].text(1));
    if (!at) return Error{ErrorCode::corrupt, format("{}: an open address is malformed", name_of_job(out.job))};
    out.open.push_back(Place{done[3].small(0), std::move(*at)});
  }
  std::sort(out.open.begin(), out.open.end());
  if (const auto read = take_stream(done[4], out.stream); !read) return read.error();
  return std::optional<DuplexJob>(std::move(out));
}

}  // namespace pawl::store::postgres
