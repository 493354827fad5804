// The layout of the tables, as a list of steps that only grows. The version of a program is the length of its list.
#pragma once

#include <cstdint>
#include <span>

namespace pawl::store::postgres {

// Migrates a schema from one version to the next.
struct Step {
  // The effect on programs of earlier versions, which may run meanwhile.
  enum class Older : std::uint8_t {
    go_on,  // it only adds: they do not notice it
    break_  // they would read or write wrong data: it waits until none of them runs
  };
  constexpr Step(const char* text, Older older_programs = Older::go_on) : sql(text), older(older_programs) {}

  const char* sql;
  Older older;
};

using Migrations = std::span<const Step>;
// The steps of this program.
Migrations migrations();

}  // namespace pawl::store::postgres
