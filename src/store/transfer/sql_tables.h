// The tables of the SQL stores, with the columns that a move writes. A test compares them with a real store: a new
// column must be moved, or listed here as left out.
#pragma once

#include <cstddef>
#include <string_view>

namespace pawl::store::transfer {

// `left_out`: columns that the database fills in itself, or that follow from others.
struct SqlTable {
  std::string_view name;
  std::string_view columns;
  std::string_view left_out = "";
  friend bool operator==(const SqlTable& a, const SqlTable& b) { return a.name == b.name; }
};

namespace tables {

inline constexpr SqlTable pools{"pools", "pool, first_lane, lanes"};
inline constexpr SqlTable apps{"apps", "namespace, app, version, deployed_at, body"};
inline constexpr SqlTable active_apps{"active_apps", "namespace, app, version"};
inline constexpr SqlTable jobs{
    "jobs",
    "run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status, semaphore, threshold, "
    "completions,"
    " next_activity, closed_at, result, reason, priority, keep, remove_at, deadline, redrives, data, code, parent_run,"
    " parent_activity, parent_request, parent_awaits, secret",
    "result_at"};  // SQLite: where the result is stored
inline constexpr SqlTable activities{"activities",
                                     "run, seq, node, place, parent, ledger, status, code, opened_at, closed_at, "
                                     "output, state, closing_guid, closing_ledger",
                                     // SQLite: the order of rows, and the work item, which is written separately
                                     "id, position, topic, request, token, worker, epoch, lease_until, runs, input, "
                                     "priority, visible_at, held, once, wake_at, life,"
                                     " plain_key, input_at, unlisted"};
inline constexpr SqlTable message_ledgers{"message_ledgers", "run, guid, activity, ledger, output"};
inline constexpr SqlTable inbox{"inbox", "run, guid, redeliveries, body", "id, position"};  // in their order
inline constexpr SqlTable timers{"timers", "run, guid, due, redeliveries, body", "id"};
inline constexpr SqlTable start_keys{"start_keys", "namespace, job_id, run, expires_at",
                                     "part"};  // SQLite: follows from the run
inline constexpr SqlTable labels{"labels", "namespace, graph, name, value, key, run"};
inline constexpr SqlTable announcements{"announcements", "id, run, topic, what, status, code, at, data"};
inline constexpr SqlTable mailboxes{"mailboxes",
                                    "run, namespace, topic, key, rev, bundle, next_entry, signals, signal_bytes"};
inline constexpr SqlTable mailbox_entries{"mailbox_entries", "run, seq, guid, kind, expires_at, taker, meeting, body"};
inline constexpr SqlTable signal_ids{"signal_ids", "lane, seq, guid, until"};
inline constexpr SqlTable outbox{"outbox", "source, target, seq, envelope"};
inline constexpr SqlTable outbox_routes{"outbox_routes", "source, target, last_seq, dropped"};
inline constexpr SqlTable outbox_taken{"outbox_taken", "target, source, last_seq"};
inline constexpr SqlTable duplex_jobs{"duplex_jobs", "run"};
inline constexpr SqlTable duplex_cells{"duplex_cells",
                                       "run, node, place, state, opened_at, closer, status, code, closed_at, output",
                                       "id, position"};  // in their order
inline constexpr SqlTable duplex_marks{"duplex_marks", "run, mark"};
inline constexpr SqlTable duplex_addresses{"duplex_addresses", "run, node, place, open"};

// Tables of both stores that no move writes, and why.
inline constexpr SqlTable store_state{"store_state", "",  // the identity is set
                                      "id, store_id, commits, writer, unlisted_from"};
inline constexpr SqlTable engines{"engines", "", "pool, name, until, leaving, holds, serves"};  // none is alive
inline constexpr SqlTable moves{"moves", "", "id, state, other"};                               // the store's mark

inline constexpr SqlTable common[] = {
    pools,        apps,        active_apps,   jobs,         activities,       message_ledgers, inbox,   timers,
    start_keys,   labels,      announcements, mailboxes,    mailbox_entries,  signal_ids,      outbox,  outbox_routes,
    outbox_taken, duplex_jobs, duplex_cells,  duplex_marks, duplex_addresses, store_state,     engines, moves};

}  // namespace tables

}  // namespace pawl::store::transfer
