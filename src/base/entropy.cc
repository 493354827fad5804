#include "base/entropy.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"

namespace pawl {

Result<Bits128> draw_entropy() {
  Bits128 drawn;
  for (;;) {
    const ssize_t got = getrandom(&drawn, sizeof drawn, 0);
    if (got == static_cast<ssize_t>(sizeof drawn)) return drawn;
    if (got >= 0 || errno == EINTR) continue;  // the kernel may return fewer bytes, though not for so few
    return Error{
        ErrorCode::unsupported,
        format("the system gives no random numbers (getrandom: {}), and a job needs one; use a system that has them",
               std::strerror(errno))};
  }
}

}  // namespace pawl
