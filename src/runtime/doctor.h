// What a person should see to, and whether all that is stored can be read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pawl/survey.h"
#include "runtime/open_store.h"

namespace pawl::runtime {

Result<std::vector<Diagnosis>> diagnose_store(OpenedStore& opened, const store::PoolInfo& pool, const Survey& survey,
                                              Instant own_clock, const std::string& store_name);
Result<Verified> verify_store(OpenedStore& opened, const std::function<void(std::uint64_t)>& progress);

}  // namespace pawl::runtime
