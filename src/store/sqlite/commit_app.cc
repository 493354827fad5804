// Deployed apps, and which version of each is in force.
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied Writer::apply(const PutApp& put) {
  const int added = sql_.put_app.run(put.name_space, put.app, put.version, clock_.now(), Blob{put.body});
  if (added == Statement::failed) return failed(sql_.put_app);
  if (added == 1) return Applied{SQLITE_OK, true, {}};
  Rows rows = sql_.same_app.query(put.name_space, put.app, put.version, Blob{put.body});
  const bool same = rows.next() && rows.number(0) != 0;
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  return same ? refused(OutcomeKind::already_done, "") : refused(OutcomeKind::exists, other_app(put));
}

Applied Writer::apply(const ActivateApp& activate) {
  {
    Rows rows = sql_.find_app.query(activate.name_space, activate.app, activate.version);
    const bool deployed = rows.next();
    if (rows.failed()) return Applied{rows.rc(), false, {}};
    if (!deployed) return refused(OutcomeKind::rejected, missing_app(activate));
  }
  const int moved = sql_.activate_app.run(activate.name_space, activate.app, activate.version);
  if (moved == Statement::failed) return failed(sql_.activate_app);
  return moved == 0 ? refused(OutcomeKind::already_done, "") : Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
