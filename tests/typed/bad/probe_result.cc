// expect: a probe takes (const pawl::Work&) and returns a pawl::Finding
#include <pawl/pawl.h>
void serve(pawl::Runtime& runtime) {
  (void)runtime.probe("a", [](const pawl::Work&) { return 1; });
}
