// PackWriter: owns packed_payloads: compresses the payloads of a job when it ends, in the commit that ends it. The
// job's rows change little afterwards, and whoever reads them finds the payload by its number (packed.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pawl/ids.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

struct ZSTD_CCtx_s;

namespace pawl::store::sqlite {

struct PackLimits {
  std::size_t from_bytes = 0;   // a payload of at least this size is compressed; 0: none is
  bool even_if_larger = false;  // for tests: otherwise only if it gets smaller
};

class PackWriter {
 public:
  PackWriter();
  ~PackWriter();

  Status prepare(Connection& connection);
  void limit(const PackLimits& limits) { limits_ = limits; }
  // The end of a job does not depend on this: if one of its payloads cannot be read, this attempt fails, and the next
  // one leaves them as they are.
  Applied pack(RunId run);

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  struct Put {
    std::int64_t number = 0;  // what takes the payload's place
    std::optional<Applied> failed{};
  };
  bool compress(std::string_view payload);  // into frame_; false: it is not worth a row
  Put put(RunId run, std::size_t bytes);
  Applied pack_activities(RunId run);
  Applied pack_job(RunId run, Statement& read, Statement& place);

  PackLimits limits_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;  // made when it is needed
  std::string frame_;                                  // what compress() made
  std::set<RunId> left_plain_;                         // payloads of these jobs could not be read
  std::size_t left_ = 0;                               // bytes that may still be compressed for this job
  Statement next_output_, place_output_, result_, place_result_, data_, place_data_, put_;
};

}  // namespace pawl::store::sqlite
