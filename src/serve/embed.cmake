# Writes embedded.cc: the named files as parts of the binary, taken as they are by the assembler.
function(serve_embed out)
  set(externs "")
  set(entries "")
  set(number 0)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(APPEND externs
      "asm(\".section .rodata\\n.balign 16\\npawl_file_${number}:\\n.incbin \\\"${file}\\\"\\npawl_file_${number}_end:\\n.byte 0\\n.previous\\n\");\n"
      "extern \"C\" const char pawl_file_${number}[] __attribute__((visibility(\"hidden\")));\n"
      "extern \"C\" const char pawl_file_${number}_end[] __attribute__((visibility(\"hidden\")));\n")
    string(APPEND entries
      "    {\"${name}\", std::string_view(pawl_file_${number}, static_cast<std::size_t>(pawl_file_${number}_end - pawl_file_${number}))},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  string(REPLACE "\\npawl_file" "\\n.globl pawl_file" ignored "")
  set(text "// Made by src/serve/embed.cmake.\n#include \"serve/embedded.h\"\n\n${externs}\nnamespace pawl::serve {\n\nstd::span<const EmbeddedFile> embedded_files() {\n  static const EmbeddedFile files[] = {\n${entries}  };\n  return files;\n}\n\nstd::string_view embedded(std::string_view name) {\n  for (const EmbeddedFile& file : embedded_files())\n    if (file.name == name) return file.bytes;\n  return {};\n}\n\n}  // namespace pawl::serve\n")
  file(CONFIGURE OUTPUT ${out} CONTENT "${text}" @ONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS "${ARGN}" SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
