// expect: a worker takes (const Input&)
#include <pawl/pawl.h>
#include <pawl_boost/json.h>
void serve(pawl::Runtime& runtime) {
  (void)runtime.serve("a", [](pawl::Work&, const int& sum) { return sum; });
}
