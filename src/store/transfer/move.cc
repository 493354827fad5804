#include "store/transfer/move.h"

#include <utility>
#include <vector>

#include "base/format.h"
#include "store/transfer/settle.h"

namespace pawl::store::transfer {

namespace {

constexpr std::size_t records_per_batch = 4'000;
constexpr std::uint64_t bytes_per_batch = 8u << 20;  // of the neutral form

// Counts and sums the records, and reports progress.
class Meter {
 public:
  Meter(const Move& move, Progress::Phase phase, std::uint64_t jobs_total) : move_(move) {
    progress_.phase = phase;
    progress_.jobs_total = jobs_total;
  }
  void add(const Record& record) {
    sums_.add(record);
    if (std::holds_alternative<Job>(record)) ++progress_.jobs;
    progress_.records += 1;
    progress_.bytes = sums_.bytes();
  }
  Status report() { return move_.on_progress ? move_.on_progress(progress_) : Status{}; }
  const Sums& sums() const { return sums_; }

 private:
  const Move& move_;
  Progress progress_;
  Sums sums_;
};

Error named(const Error& error, const std::string& store, const char* doing) {
  return Error{error.code, format("{} {}: {}", doing, store, error.detail)};
}

Result<Sums> copy(const Move& move, std::uint64_t jobs) {
  Meter meter(move, Progress::Phase::copy, jobs);
  std::vector<Record> batch;
  std::uint64_t written = 0;
  Status put_failed;
  const auto flush = [&]() -> Status {
    if (auto put = move.target.put(batch); !put) return put_failed = named(put.error(), move.to, "while writing to");
    batch.clear();
    written = meter.sums().bytes();
    return meter.report();
  };
  auto done = move.source.read([&](Record record) -> Status {
    meter.add(record);
    batch.push_back(std::move(record));
    return batch.size() < records_per_batch && meter.sums().bytes() - written < bytes_per_batch ? Status{} : flush();
  });
  if (done) done = flush();
  if (!put_failed) return put_failed.error();
  if (!done) return named(done.error(), move.from, "while reading");
  return meter.sums();
}

Result<Sums> read_back(const Move& move, std::uint64_t jobs) {
  Meter meter(move, Progress::Phase::check, jobs);
  std::size_t since = 0;
  const auto done = move.target.read([&](Record record) -> Status {
    meter.add(record);
    if (++since < records_per_batch) return {};
    since = 0;
    return meter.report();
  });
  if (!done) return named(done.error(), move.to, "while reading back");
  if (const auto reported = meter.report(); !reported) return reported.error();
  return meter.sums();
}

}  // namespace

Result<Moved> run(const Move& move) {
  if (const auto fenced = move.source.fence({Mark::State::leaving, move.to}); !fenced) return fenced.error();
  const auto jobs = move.source.count_jobs();
  if (!jobs) return jobs.error();
  if (const auto begun = move.target.begin({Mark::State::incoming, move.from}); !begun) return begun.error();
  auto read = copy(move, *jobs);
  if (!read) return read.error();
  if (const auto ended = move.target.end_of_records(); !ended) return named(ended.error(), move.to, "while writing to");
  const auto written = read_back(move, *jobs);
  if (!written) return written.error();
  if (const std::string differ = read->differences(*written); !differ.empty())
    return Error{
        ErrorCode::corrupt,
        format(
            "what was read from {} is not what {} has now ({}); nothing was taken from {}: check both, then move again",
            move.from, move.to, differ, move.from)};
  const auto delivered = settle_outboxes(move.target.store());
  if (!delivered) return named(delivered.error(), move.to, "while delivering in");
  if (const auto marked = move.source.finish({Mark::State::moved, move.to}); !marked)
    return named(marked.error(), move.from, "while marking");
  if (const auto finished = move.target.finish(); !finished)
    return named(finished.error(), move.to, "while completing");
  return Moved{std::move(*read), *delivered};
}

}  // namespace pawl::store::transfer
