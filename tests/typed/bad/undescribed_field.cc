// expect: a field has a type that is not described
#include <pawl/pawl.h>
#include <pawl_boost/json.h>
struct Line {
  int sum = 0;
};
struct Order {
  Line line;
};
BOOST_DESCRIBE_STRUCT(Order, (), (line))
void start(pawl::Runtime& runtime) { (void)runtime.start("order", Order{}); }
