// expect: this type has no description
#include <pawl/pawl.h>
struct Receipt {};
void serve(pawl::Runtime& runtime) {
  (void)runtime.serve("a", [](pawl::Work&) { return Receipt{}; });
}
