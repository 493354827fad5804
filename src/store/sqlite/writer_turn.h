// WriterTurn: who may write now: a group, a worker's transaction, or the checkpointer. Like a mutex, but one thread may
// unlock what another one locked, because a worker's transaction passes from thread to thread.
#pragma once

#include <semaphore>

namespace pawl::store::sqlite {

class WriterTurn {
 public:
  void lock() { free_.acquire(); }
  void unlock() { free_.release(); }

 private:
  std::binary_semaphore free_{1};
};

}  // namespace pawl::store::sqlite
