// What a job may be called. More than other names: other engines made ids with $ and , in them and a - in front, and
// such a job must be found again by the name it has.
#pragma once

#include <string_view>

#include "pawl/result.h"

namespace pawl {

Status check_job_id(std::string_view what, std::string_view id);

}  // namespace pawl
