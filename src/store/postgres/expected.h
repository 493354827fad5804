// Statements that rely on what was read before them say how many rows they must find. If others moved the rows meanwhile the
// statement divides by zero: the transaction is undone and the group applied again to what is there now.
#pragma once

#define PAWL_EXPECT(condition) "1 / (" condition ")::int"

namespace pawl::store::postgres {
inline constexpr const char* stale_state = "22012";  // division_by_zero; nothing else here divides
}  // namespace pawl::store::postgres
