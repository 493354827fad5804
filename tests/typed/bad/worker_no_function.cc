// expect: a worker is a copyable function
#include <pawl/pawl.h>
void serve(pawl::Runtime& runtime) { (void)runtime.serve("a", 7); }
