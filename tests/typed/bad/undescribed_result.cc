// expect: this type has no description
#include <pawl/pawl.h>
struct Receipt {};
pawl::Result<Receipt> read(const pawl::Job<>& job) { return job.as<Receipt>().result(std::chrono::seconds(1)); }
