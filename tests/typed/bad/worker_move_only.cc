// expect: a worker is a copyable function
#include <pawl/pawl.h>
#include <memory>
void serve(pawl::Runtime& runtime) {
  (void)runtime.serve("a", [owned = std::make_unique<int>(1)](pawl::Work&) { return pawl::Reply::success(); });
}
