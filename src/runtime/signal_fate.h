// Whom a signal would reach: which hooks wait for it now.
#pragma once

#include <string>

#include "pawl/view.h"
#include "runtime/apps.h"
#include "store/store.h"

namespace pawl::runtime {

Result<SignalFate> fate_of_signal(store::Store& store, const Apps& apps, const std::string& topic, const Payload& data,
                                  const std::string& name_space);

}  // namespace pawl::runtime
