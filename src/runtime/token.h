// The text that names one attempt of a work item, for a reply from outside: run, activity and token in base 16. The
// token cannot be guessed (core/secret.h); it is one number, so comparing it always takes the same time. It is bound to
// its store: run ids are small numbers that every store has.
#pragma once

#include <string>
#include <string_view>

#include "core/guid.h"
#include "pawl/result.h"
#include "runtime/work_desk.h"

namespace pawl::runtime {

std::string token_text(const WorkRun& run, const core::Guid& store);
// Invalid when the text has another form. The token of another store reads as one that no attempt has.
Result<WorkRun> parse_token(std::string_view text, const core::Guid& store);

}  // namespace pawl::runtime
