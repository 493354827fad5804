// expect: not both in one file
#include <pawl_boost/json.h>
#include <pawl_nlohmann/json.h>
