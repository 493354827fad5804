// WriterTurn: whose turn it is to write: a group's, a worker's transaction's, or the checkpointer's. Like a mutex, but
// what one thread locked another may unlock: a worker's transaction passes from thread to thread.
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
