// expect: is served by serve_transaction
#include <pawl/pawl.h>
void serve(pawl::Runtime& runtime) {
  (void)runtime.serve("a", [](pawl::Transaction&) {});
}
