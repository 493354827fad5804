// What a callback of the user threw, as a text. Only within a catch.
#pragma once

#include <exception>
#include <string>

#include "base/limits.h"
#include "base/utf8.h"
#include "pawl/failure.h"

namespace pawl::runtime {

inline std::string thrown_text() {
  try {
    throw;
  } catch (const Failure& failure) {
    return to_string(failure);
  } catch (const std::exception& error) {
    return kept_text(error.what(), limits::reason_bytes_max);
  } catch (...) {
    return "something that is neither a pawl::Failure nor a std::exception";
  }
}

}  // namespace pawl::runtime
