// The layout of the tables, as a list of steps that only grows. Its length is the version that a program knows.
#pragma once

#include <cstdint>
#include <span>

namespace pawl::store::postgres {

// Takes a schema from one version to the next.
struct Step {
  // What it means to programs of the versions before it, which may run meanwhile.
  enum class Older : std::uint8_t {
    go_on,  // it only adds: they do not see it
    break_  // they would read or write nonsense: it waits until none of them runs
  };
  constexpr Step(const char* text, Older older_programs = Older::go_on) : sql(text), older(older_programs) {}

  const char* sql;
  Older older;
};

using Migrations = std::span<const Step>;
// Of this program.
Migrations migrations();

}  // namespace pawl::store::postgres
