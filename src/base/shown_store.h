// The name of a store without its secrets.
#pragma once

#include <string>

namespace pawl {

// "postgres://ann:word@host/jobs?sslpassword=x" is "postgres://ann@host/jobs?sslpassword=...".
std::string shown_store(std::string store);

}  // namespace pawl
