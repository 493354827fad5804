// Statements that rely on what was read before them say how many rows they must find. If others moved the rows
// meanwhile the statement divides by zero: the transaction is undone and the group applied again to what is there now.
//
// A row is found by the key of an array's row: `t.run = ANY(ARRAY[u.run])`, and not `t.run = u.run`. By the latter the
// planner may also walk all of the key's index first and compare with the array, and does so when the statistics call
// the table empty. A comparison with an array leaves it the key as the only way (plan_test.cc).
#pragma once

#define PAWL_EXPECT(condition) "1 / (" condition ")::int"

namespace pawl::store::postgres {
inline constexpr const char* stale_state = "22012";  // division_by_zero; nothing else here divides
}  // namespace pawl::store::postgres
