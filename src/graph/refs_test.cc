#include "graph/refs.h"

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

using Files = std::map<std::string, std::string, std::less<>>;

struct Loaded {
  std::string json;
  std::vector<Mistake> mistakes;
};

Loaded load(Files files, const std::string& main = "app.yaml") {
  Sources sources;
  Mistakes mistakes;
  const auto root = load_document(MemoryLoader(std::move(files)), main, sources, mistakes);
  return {root ? boost::json::serialize(to_json(*root)) : "", mistakes.take_sorted()};
}

TEST(Refs, a_reference_is_replaced_by_what_it_names) {
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: b.yaml}\n"}, {"b.yaml", "x: 1\n"}}).json, R"({"a":{"x":1}})");
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: 'b.yaml#/x/1'}\n"}, {"b.yaml", "x: [1, {y: 2}]\n"}}).json,
            R"({"a":{"y":2}})");
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: '#/b~1c'}\n'b/c': 5\n"}}).json, R"({"a":5,"b/c":5})");
}

TEST(Refs, references_are_relative_to_the_file_they_stand_in) {
  const Loaded loaded = load({{"app.yaml", "a: {$ref: sub/b.yaml}\n"},
                              {"sub/b.yaml", "x: {$ref: c.yaml}\ny: {$ref: ../d.yaml}\nz: {$ref: '#/x'}\n"},
                              {"sub/c.yaml", "1"},
                              {"d.yaml", "2"}});
  EXPECT_EQ(loaded.json, R"({"a":{"x":1,"y":2,"z":1}})");
  EXPECT_TRUE(loaded.mistakes.empty());
}

TEST(Refs, keys_beside_a_reference_are_laid_over_it) {
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: b.yaml, x: 9, z: 3}\n"}, {"b.yaml", "x: 1\ny: 2\n"}}).json,
            R"({"a":{"x":9,"y":2,"z":3}})");
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: b.yaml, x: 9}\n"}, {"b.yaml", "1"}}).mistakes.at(0).code, Code::bad_ref);
}

TEST(Refs, the_references_of_json_schema_stay) {
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: '#/$defs/x'}\nb: {$ref: '#'}\n"}}).json,
            R"({"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#"}})");
}

TEST(Refs, nothing_outside_the_folder_can_be_named) {
  for (const char* ref : {"../secret.yaml", "/etc/passwd", "sub/../../x.yaml", "file:///etc/passwd",
                          "http://example.com/x.yaml", "..\\\\x.yaml", "."}) {
    const Loaded loaded = load({{"app.yaml", format("a: {{$ref: \"{}\"}}\n", ref)}, {"secret.yaml", "1"}});
    ASSERT_EQ(loaded.mistakes.size(), 1U) << ref;
    EXPECT_EQ(loaded.mistakes[0].code, Code::ref_escapes) << ref;
    EXPECT_EQ(loaded.mistakes[0].mark.line, 1U);
    EXPECT_EQ(loaded.mistakes[0].path, "a");
  }
}

TEST(Refs, broken_references_say_what_is_missing) {
  const auto first = [](const char* ref) {
    return load({{"app.yaml", format("a: {{$ref: {}}}\n", ref)}, {"b.yaml", "member: 1"}}).mistakes.at(0);
  };
  EXPECT_EQ(first("c.yaml").code, Code::ref_not_found);
  EXPECT_EQ(first("'b.yaml#/membr'").code, Code::ref_not_found);
  EXPECT_EQ(first("'b.yaml#/membr'").suggestion, "member");
  EXPECT_EQ(first("'b.yaml#member'").code, Code::bad_ref);
  EXPECT_EQ(first("5").code, Code::bad_ref);
}

TEST(Refs, circles_are_found) {
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: b.yaml}\n"}, {"b.yaml", "x: {$ref: app.yaml}\n"}}).mistakes.at(0).code,
            Code::ref_circular);
  EXPECT_EQ(load({{"app.yaml", "a: {b: {$ref: '#/a'}}\n"}}).mistakes.at(0).code, Code::ref_circular);
  EXPECT_EQ(load({{"app.yaml", "a: {$ref: '#/a'}\n"}}).mistakes.at(0).code, Code::ref_circular);
}

TEST(Refs, the_number_of_files_is_limited) {
  const auto with = [](std::size_t others) {
    Files files;
    std::string main;
    for (std::size_t i = 0; i < others; ++i) {
      files[format("f{}.yaml", i)] = "1";
      main += format("k{}: {{$ref: f{}.yaml}}\n", i, i);
    }
    files["app.yaml"] = main;
    return load(std::move(files)).mistakes.size();
  };
  EXPECT_EQ(with(files_max - 1), 0U);
  EXPECT_EQ(with(files_max), 1U);
}

TEST(Refs, a_missing_main_file_cannot_be_read) {
  const Checked checked = check_file("/nonexistent/app.yaml");
  EXPECT_FALSE(checked.could_read);
  EXPECT_EQ(codes_of(checked), std::vector<std::string>{"G001"});
}

TEST(Refs, a_folder_hides_what_links_lead_out_to) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / format("pawl_refs_{}", getpid());
  fs::remove_all(root);
  fs::create_directories(root / "app" / "sub");
  std::ofstream(root / "outside.yaml") << "1";
  std::ofstream(root / "app" / "inside.yaml") << "2";
  fs::create_symlink(root / "outside.yaml", root / "app" / "link.yaml");
  fs::create_directory_symlink(root, root / "app" / "up");
  fs::create_symlink(root / "app" / "inside.yaml", root / "app" / "alias.yaml");

  const FolderLoader loader((root / "app").string());
  EXPECT_EQ(loader.read("inside.yaml").value(), "2");
  EXPECT_EQ(loader.read("alias.yaml").value(), "2");
  EXPECT_FALSE(loader.read("link.yaml").ok());
  EXPECT_FALSE(loader.read("up/outside.yaml").ok());
  EXPECT_FALSE(loader.read("sub").ok());
  EXPECT_FALSE(loader.read("none.yaml").ok());
  fs::remove_all(root);
}

}  // namespace
}  // namespace pawl::graph
