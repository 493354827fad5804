#include "base/seeded_bug.h"

#ifdef PAWL_SEEDED_BUGS
namespace pawl {
SeededBug active_seeded_bug = SeededBug::none;
}
#endif
