#include "store/postgres/desk.h"

namespace pawl::store::postgres {

void Desk::forget() {
  lanes.forget();
  keys.forget();
  jobs.forget();
  mailboxes.forget();
  activities.forget();
  work.forget();
  inbox.forget();
  outbox.forget();
  signal_ids.forget();
  labels.forget();
  keys_first = false;
  is_betrayed = false;
}

void Desk::write(Script& script) const {
  lanes.write(script);
  keys.write(script);
  jobs.write_new(script);
  if (trusts) jobs.write_steps(script);
  mailboxes.write(script);
  activities.write(script);
  work.write(script);
  inbox.write(script);
  mailboxes.write_empty(script);
  labels.write(script);
  outbox.write(script);
  signal_ids.write(script, now);
  if (!trusts) jobs.write_steps(script);
  jobs.write_removed(script);
}

}  // namespace pawl::store::postgres
