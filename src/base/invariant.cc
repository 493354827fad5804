#include "base/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void invariant_failed(const char* why, const char* file, int line) {
  std::fprintf(stderr, "pawl: invariant failed: %s (%s:%d)\n", why, file, line);
  std::abort();
}

}  // namespace pawl
