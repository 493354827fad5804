// Problems: every error that the API answers, as Problem Details (RFC 9457), each with a stable code and a page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pawl/error.h"
#include "serve/request.h"

namespace pawl::serve {

struct ProblemKind {
  std::string_view code;
  int status;
  std::string_view title;
  std::string_view meaning;  // what it means, and what to do
};
std::span<const ProblemKind> problem_kinds();
const ProblemKind* find_problem(std::string_view code);

// A problem of the API itself, by its code. REQUIRES: there is such a code.
Response problem(std::string_view code, std::string detail, std::string_view field = {});
// An error of the library under its own code. `field`: the field of the request that is wrong, if one is.
Response problem(const Error& error, std::string_view field = {});
// The same as an object, for answers that have several.
std::string problem_json(const Error& error);
std::string problem_json(std::string_view code, std::string_view detail, std::string_view field = {});

// The page of a code, as HTML; empty: there is no such code.
std::string problem_page(std::string_view code);

}  // namespace pawl::serve
