// The text that names one run of a work item, for whoever answers it from outside: run, activity and token in
// base 16. The token cannot be guessed (core/secret.h); it is one number, so comparing it takes the same time however
// much of it is right. It is bound to its store: run ids are small numbers that every store has.
#pragma once

#include <string>
#include <string_view>

#include "core/guid.h"
#include "pawl/result.h"
#include "runtime/work_desk.h"

namespace pawl::runtime {

std::string token_text(const WorkRun& run, const core::Guid& store);
// Invalid when it is no such text. One that was made by another store reads as a token that nobody has.
Result<WorkRun> parse_token(std::string_view text, const core::Guid& store);

}  // namespace pawl::runtime
