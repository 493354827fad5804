#include "runtime/duplex_batch.h"

namespace pawl::runtime {

DuplexAnswers carry_out(const DuplexBatch& batch, store::DuplexStore& duplex, store::JobStore& jobs) {
  DuplexAnswers answers{std::vector<store::DuplexOutcome>{}, {}, {}};
  if (!batch.operations.empty()) answers.outcomes = duplex.commit(batch.operations);
  answers.reads.reserve(batch.reads.size());
  for (const store::DuplexRead& read : batch.reads) answers.reads.push_back(duplex.answer(read));
  answers.rows.reserve(batch.ended.size());
  for (const RunId run : batch.ended) answers.rows.push_back(jobs.read_job_row(run));
  return answers;
}

}  // namespace pawl::runtime
