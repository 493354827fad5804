// LogVfs: a layer over SQLite's file system that gathers what a transaction writes to the log.
//
// SQLite writes each page of a transaction with two calls: 24 bytes that describe it, then the page. Here these bytes
// are collected and go to the file in one piece, at the latest behind the last page of the transaction, which SQLite
// marks. So a transaction is in the file, as far as without this layer, before anyone is told of it and before it is
// synced. What a transaction that was rolled back has left is dropped when it gives up the log's lock: another process
// may write in that place from then on. Everything else is passed on. Why: docs/decisions/099-log-in-one-piece.md.
#pragma once

#include <string>

namespace pawl::store::sqlite {

// The name of the layer over this file system (empty: the default one), for sqlite3_open_v2. Registered when it is
// first asked for. Thread-safe.
std::string log_vfs_over(const std::string& base);

}  // namespace pawl::store::sqlite
