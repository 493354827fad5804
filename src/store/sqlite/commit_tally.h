// CommitTally: which commits of a file this process knows. Commits are numbered without gaps (store_state.commits). The
// process knows its own commits, and learns of others by notifications. A number that stays unknown means that a
// notification was lost, or that a process died before it sent one.
// Any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

namespace pawl::store::sqlite {

class CommitTally {
 public:
  // Everything up to `commit` is known: a new owner of the lanes reads all that came before.
  explicit CommitTally(std::int64_t commit) : known_until_(commit), latest_(commit) {}

  void know(std::int64_t commit);  // a commit of this process, or one that it was notified of
  void see(std::int64_t commit);   // there is such a commit; its process is not known
  bool has_gap() const;
  void forgive();  // the owner has looked for what was missing

 private:
  bool gap() const { return known_until_ < latest_; }

  mutable std::mutex mutex_;
  std::int64_t known_until_;       // all up to here
  std::int64_t latest_;            // the highest that exists
  std::set<std::int64_t> beyond_;  // known commits behind the first gap
};

}  // namespace pawl::store::sqlite
