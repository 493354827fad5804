#include "runtime/stored_work.h"

namespace pawl::runtime {

Result<std::optional<core::WorkItem>> read_item(store::Store& store, const WorkRef& ref) {
  if (ref.activity == core::ActivitySeq(0)) return std::optional<core::WorkItem>();  // a trigger asks for no work
  // Work items are read in order: this one is the first behind its predecessor's place.
  const store::WorkCursor before{ref.run, core::ActivitySeq(ref.activity.raw() - 1)};
  auto page = store.read_work(core::lane_of(ref.run), before, 1);
  if (!page) return page.error();
  for (const store::Damaged& row : page->damaged)
    if (row.run == ref.run) return Error{ErrorCode::corrupt, row.what};
  if (page->empty() || page->front().run != ref.run || page->front().activity != ref.activity)
    return std::optional<core::WorkItem>();
  return std::optional<core::WorkItem>(std::move(page->front()));
}

}  // namespace pawl::runtime
