// A stream of work for one worker: a line for each attempt, as they come. A client that reads slowly gets its next line
// when it has taken those before; meanwhile it is given no new work.
#pragma once

#include <string>

#include "runtime/handouts.h"
#include "serve/exchange.h"
#include "serve/site.h"

namespace pawl::serve {

// An attempt as JSON, on one line, with the name of its job.
std::string work_text(Site& site, const runtime::TakenWork& work);

// `name`: for its end by a request (OpenStreams); empty: it has none.
void stream_work(Site& site, const runtime::TakeRequest& wish, const std::string& name,
                 const ExchangePointer& exchange);

}  // namespace pawl::serve
