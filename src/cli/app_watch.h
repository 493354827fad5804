// AppWatch: which of some apps were changed. Asks the system, so nothing is looked at while nothing changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace pawl::cli {

class AppWatch {
 public:
  // The folders of the files are watched, because editors replace files; so are those of the parts of an app.
  explicit AppWatch(const std::vector<std::string>& files);
  ~AppWatch();
  AppWatch(const AppWatch&) = delete;
  AppWatch& operator=(const AppWatch&) = delete;

  int descriptor() const { return descriptor_; }  // readable: something changed; -1: the system cannot tell
  // Those whose text, or the text of a part of them, is another one than before. Other files of the folder do not
  // count.
  std::vector<std::string> take_changed();

 private:
  std::string read(const std::string& file);  // all its text; watches where it comes from

  int descriptor_ = -1;
  std::map<int, std::set<std::string>> files_;  // by watched folder
  std::map<std::string, std::string> texts_;    // by file
};

}  // namespace pawl::cli
