// expect: a string literal or a pointer is not a value
#include <pawl/pawl.h>
void start(pawl::Runtime& runtime) { (void)runtime.start("order", "{}"); }
