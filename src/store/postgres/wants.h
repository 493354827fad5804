// What an operation needs on the desk before it can be applied.
#pragma once

#include "store/operation.h"
#include "store/postgres/desk.h"

namespace pawl::store::postgres {

// Whether it is applied on the desk. The others are statements of their own (alone.h).
bool is_for_desk(const Operation& operation);

// Whether its bundle may be trusted: all that it changes is compared with what it was made from when it is written, and
// it touches no other entity.
bool is_plain(const Operation& operation);

void want(Desk& desk, const Operation& operation);
// Likewise, once it is known who has the keys that it names.
void want_holders(Desk& desk, const Operation& operation);
// What an earlier operation of the group left open is written and read again before this one.
bool must_wait(const Desk& desk, const Operation& operation);

}  // namespace pawl::store::postgres
