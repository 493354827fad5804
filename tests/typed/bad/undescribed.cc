// expect: this type has no description
#include <pawl/pawl.h>
#include <pawl_boost/json.h>
struct Order {
  int sum = 0;
};
void start(pawl::Runtime& runtime) { (void)runtime.start("order", Order{}); }
