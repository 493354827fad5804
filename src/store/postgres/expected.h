// A statement that relies on rows read before it states how many rows it must find. If other transactions changed the
// rows in between, the statement divides by zero. Then the transaction is rolled back, and the group is applied again
// to the current rows.
//
// A row is joined to an array's row by `t.run = ANY(ARRAY[u.run])`, and not by `t.run = u.run`. With the latter the
// planner may scan the whole index of the key and compare each entry with the array. It does so when the statistics
// report an empty table. With ANY(ARRAY[...]) it can only look up the key (plan_test.cc).
#pragma once

#define PAWL_EXPECT(condition) "1 / (" condition ")::int"

namespace pawl::store::postgres {
inline constexpr const char* stale_state = "22012";  // division_by_zero; no other statement here divides
}  // namespace pawl::store::postgres
