// Snapshot: several reads that see the same state of the file.
#pragma once

#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

// Ends the snapshot whatever the read came to.
class Snapshot {
 public:
  Snapshot(Statement& begin, Statement& end) : end_(end) {
    code_ = begin.run() < 0 ? begin.code() : SQLITE_OK;
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { end_.run(); }
  int code() const { return code_; }

 private:
  Statement& end_;
  int code_;
};

}  // namespace pawl::store::sqlite
