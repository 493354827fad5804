// expect: nodiscard
#include <pawl/pawl.h>
void watch(pawl::Runtime& runtime) {
  runtime.observe([](const pawl::Event&) {});
}
