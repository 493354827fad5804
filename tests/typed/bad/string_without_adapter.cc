// expect: this type has no description
#include <pawl/pawl.h>
void start(pawl::Runtime& runtime) { (void)runtime.signal("approved", std::string("yes")); }
