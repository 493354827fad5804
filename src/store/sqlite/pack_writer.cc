#include "store/sqlite/pack_writer.h"

#include <zstd.h>

#include "store/sqlite/limits.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

void PackWriter::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

PackWriter::PackWriter() = default;
PackWriter::~PackWriter() = default;

Status PackWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&next_output_,
           "SELECT seq, output FROM activities WHERE run = ?1 AND seq > ?2 AND typeof(output) = 'blob'"
           " AND length(output) >= ?3 ORDER BY seq LIMIT 1"},
          {&place_output_, "UPDATE activities SET output = ?3 WHERE run = ?1 AND seq = ?2"},
          {&result_,
           "SELECT 0, result FROM jobs WHERE run = ?1 AND result_at IS NULL AND typeof(result) = 'blob'"
           " AND length(result) >= ?2"},
          {&place_result_, "UPDATE jobs SET result = ?2 WHERE run = ?1"},
          {&data_, "SELECT 0, data FROM jobs WHERE run = ?1 AND typeof(data) = 'blob' AND length(data) >= ?2"},
          {&place_data_, "UPDATE jobs SET data = ?2 WHERE run = ?1"},
          {&put_, "INSERT INTO packed_payloads (run, bytes, body) VALUES (?1, ?2, ?3) RETURNING id"},
      });
}

Applied PackWriter::pack(RunId run) {
  if (limits_.from_bytes == 0 || left_plain_.contains(run)) return {};
  left_ = limits::packed_per_job_bytes_max;
  Applied packed = pack_activities(run);
  if (is_done(packed)) packed = pack_job(run, result_, place_result_);
  if (is_done(packed)) packed = pack_job(run, data_, place_data_);
  const Fault fault = fault_of(packed.code);
  if (packed.code == SQLITE_OK || (fault != Fault::unreadable && fault != Fault::poison)) return packed;
  if (left_plain_.size() == limits::left_plain_max) left_plain_.clear();  // they only try once more
  left_plain_.insert(run);
  return packed;
}

// One at a time: a row must not change under the statement that reads it.
Applied PackWriter::pack_activities(RunId run) {
  for (std::int64_t seq = -1;;) {
    std::size_t bytes = 0;
    bool smaller = false;
    {
      Rows rows = next_output_.query(run, seq, limits_.from_bytes);
      if (!rows.next()) return rows.failed() ? failed(rows) : Applied{};
      seq = rows.number(0);
      const std::string_view payload = rows.bytes(1);
      if (rows.malformed()) return Applied{SQLITE_CORRUPT, false, {}};
      bytes = payload.size();
      if (bytes > left_) return {};
      smaller = compress(payload);
    }
    left_ -= bytes;
    if (!smaller) continue;
    const Put made = put(run, bytes);
    if (made.failed) return *made.failed;
    if (place_output_.run(run, seq, made.number) == Statement::failed) return failed(place_output_);
  }
}

Applied PackWriter::pack_job(RunId run, Statement& read, Statement& place) {
  std::size_t bytes = 0;
  {
    Rows rows = read.query(run, limits_.from_bytes);
    if (!rows.next()) return rows.failed() ? failed(rows) : Applied{};
    const std::string_view payload = rows.bytes(1);
    bytes = payload.size();
    if (bytes > left_ || !compress(payload)) return {};
  }
  left_ -= bytes;
  const Put made = put(run, bytes);
  if (made.failed) return *made.failed;
  if (place.run(run, made.number) == Statement::failed) return failed(place);
  return {};
}

bool PackWriter::compress(std::string_view payload) {
  if (!context_) {
    context_.reset(ZSTD_createCCtx());
    if (!context_) return false;  // no memory for it: the payload stays as it is
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, limits::pack_level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  frame_.resize(ZSTD_compressBound(payload.size()));
  const std::size_t bytes =
      ZSTD_compress2(context_.get(), frame_.data(), frame_.size(), payload.data(), payload.size());
  if (ZSTD_isError(bytes) != 0) return false;
  frame_.resize(bytes);
  return limits_.even_if_larger || bytes + limits::packed_row_bytes <= payload.size();
}

PackWriter::Put PackWriter::put(RunId run, std::size_t bytes) {
  Put made;
  Rows rows = put_.query(run, bytes, Blob{frame_});
  if (rows.next()) made.number = rows.number(0);
  rows.next();  // finish the statement
  if (rows.failed()) made.failed = failed(rows);
  return made;
}

}  // namespace pawl::store::sqlite
