# The scripts of the Redis store, put unchanged into a header: `lane_source` is its parts one after the other. The parts
# between `rest_begin` and `rest_end` are one function of it. script.cc makes a script and a function of the server of it.
set(redis_lane_parts lane steps rest_begin words due inbox work outbox labels jobs mailboxes deliver owner bundle rest_end commit)
set(redis_scripts_header ${CMAKE_CURRENT_BINARY_DIR}/generated/store/redis/script_sources.h)

function(redis_script_source out name)
  set(text "")
  foreach(part ${ARGN})
    set(file ${CMAKE_CURRENT_SOURCE_DIR}/redis/scripts/${part}.lua)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    string(APPEND text "${content}")
  endforeach()
  set(${out} "${${out}}inline constexpr std::string_view ${name} = R\"lua(${text})lua\";\n" PARENT_SCOPE)
endfunction()

set(sources "")
redis_script_source(sources lane_source ${redis_lane_parts})
redis_script_source(sources catalogue_source catalogue)
redis_script_source(sources whole_source whole)
redis_script_source(sources items_source items)
redis_script_source(sources due_source due_page)
file(CONFIGURE OUTPUT ${redis_scripts_header} @ONLY CONTENT "// Made by CMake from src/store/redis/scripts.
#pragma once
#include <string_view>
namespace pawl::store::redis {
@sources@}
")
