// Attempts as JSON, and what workers say of them.
#pragma once

#include <string>

#include "runtime/handouts.h"
#include "serve/fields.h"
#include "serve/job_names.h"

namespace pawl::serve {

std::string work_json(const runtime::TakenWork& work, const JobName& job);  // on one line

// A worker's wish for work; the fields say what is wrong.
struct Wish {
  runtime::TakeRequest request;
  Duration wait{0};
};
Wish wish_in(Fields& fields);
runtime::TakeRequest stream_in(Fields& fields);

// One answer of several: {"token", "do", ...}.
struct Answer {
  std::string token;
  runtime::Said said;
};
Answer answer_in(Fields& fields);
// What a word such as complete says, with everything but its data.
runtime::Said said_in(Query& query, std::string_view word);

}  // namespace pawl::serve
