// CommitTally: which commits of a file this process knows of. Commits are numbered without a gap
// (store_state.commits); its own it knows, those of others it hears of by their rings. A number
// that stays unknown is a ring that was lost, or a process that died before it rang.
// Any thread may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

namespace pawl::store::sqlite {

class CommitTally {
 public:
  // Everything up to `commit` is known: whoever takes the lanes reads all that came before.
  explicit CommitTally(std::int64_t commit) : known_until_(commit), latest_(commit) {}

  void know(std::int64_t commit);  // its own, or one that rang
  void see(std::int64_t commit);   // there is such a commit; whose is not known
  bool has_gap() const;
  void forgive();  // what is missing was looked for

 private:
  bool gap() const { return known_until_ < latest_; }

  mutable std::mutex mutex_;
  std::int64_t known_until_;       // all up to here
  std::int64_t latest_;            // the highest there is
  std::set<std::int64_t> beyond_;  // known ones behind the first gap
};

}  // namespace pawl::store::sqlite
