// Keeper: a small process beside pawl run. When pawl dies without a chance to end its commands (kill -9, a second
// Ctrl-C, no memory left), the keeper ends them, and then itself.
#pragma once

#include <sys/types.h>

namespace pawl::cli {

class Keeper {
 public:
  Keeper();   // REQUIRES: this process has one thread. Without a keeper everything else works
  ~Keeper();  // the commands have ended: the keeper exits
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  pid_t process_ = -1;
  int line_ = -1;  // closed by the kernel when this process ends in any way
};

}  // namespace pawl::cli
