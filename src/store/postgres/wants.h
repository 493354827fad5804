// The rows that an operation needs on the desk before it can be applied.
#pragma once

#include "store/operation.h"
#include "store/postgres/desk.h"

namespace pawl::store::postgres {

// Whether it is applied on the desk. Other operations run their own statements (alone.h).
bool is_for_desk(const Operation& operation);

// Whether its bundle may be trusted: the write compares everything that it changes with what it was made from, and it
// touches no other entity.
bool is_plain(const Operation& operation);

void want(Desk& desk, const Operation& operation);
// The same, once the runs that have the named keys are known.
void want_holders(Desk& desk, const Operation& operation);
// Whether an earlier operation of the group must be written and read again before this one.
bool must_wait(const Desk& desk, const Operation& operation);

}  // namespace pawl::store::postgres
