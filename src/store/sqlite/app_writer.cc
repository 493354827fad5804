#include "store/sqlite/app_writer.h"

#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Status AppWriter::prepare(Connection& connection) {
  return prepare_each(connection,
                      {
                          {&put_app_,
                           "INSERT INTO apps (namespace, app, version, deployed_at, body) VALUES (?1, ?2, ?3, ?4, ?5)"
                           " ON CONFLICT DO NOTHING"},
                          {&same_app_, "SELECT body = ?4 FROM apps WHERE namespace = ?1 AND app = ?2 AND version = ?3"},
                          {&find_app_, "SELECT 1 FROM apps WHERE namespace = ?1 AND app = ?2 AND version = ?3"},
                          {&activate_app_,
                           "INSERT INTO active_apps (namespace, app, version) VALUES (?1, ?2, ?3)"
                           " ON CONFLICT DO UPDATE SET version = excluded.version WHERE version <> excluded.version"},
                      });
}

Applied AppWriter::apply(const PutApp& put) {
  const int added = put_app_.run(put.name_space, put.app, put.version, clock_.now(), Blob{put.body});
  if (added == Statement::failed) return failed(put_app_);
  if (added == 1) return Applied{SQLITE_OK, true, {}};
  Rows rows = same_app_.query(put.name_space, put.app, put.version, Blob{put.body});
  const bool same = rows.next() && rows.number(0) != 0;
  if (rows.failed()) return failed(rows);
  return same ? refused(OutcomeKind::already_done, "") : refused(OutcomeKind::exists, other_app(put));
}

Applied AppWriter::apply(const ActivateApp& activate) {
  {
    Rows rows = find_app_.query(activate.name_space, activate.app, activate.version);
    const bool deployed = rows.next();
    if (rows.failed()) return failed(rows);
    if (!deployed) return refused(OutcomeKind::rejected, missing_app(activate));
  }
  const int moved = activate_app_.run(activate.name_space, activate.app, activate.version);
  if (moved == Statement::failed) return failed(activate_app_);
  return moved == 0 ? refused(OutcomeKind::already_done, "") : Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
