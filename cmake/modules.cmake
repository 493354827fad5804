# One module per folder of src/: its objects go into libpawl, its *_test.cc files into one test program.

add_library(pawl_flags INTERFACE)
target_compile_options(pawl_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  -Wno-missing-field-initializers)  # our aggregates have default member values
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees uninitialised members in moved std::variants where there are none; valgrind and ASan look.
  target_compile_options(pawl_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all)
  if(PAWL_SANITIZE MATCHES undefined)
    # Dear to build, and mostly seen by AddressSanitizer as well.
    target_compile_options(pawl_flags INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
target_include_directories(pawl_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# Tests are built once and run for seconds. With less optimisation g++ 12 sees bounds broken in moved strings
# where they are not. With -pthread all of them, since some libraries ask for it and precompiled headers are shared.
set(pawl_test_options -O1 -pthread)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND pawl_test_options -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# What nearly every test includes, parsed once for all of them. The library's own sources do without: each shows
# that it includes what it uses.
set(pawl_test_headers <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <string> <unordered_map>
  <variant> <vector>)

# The first test program makes the headers that the others use too; all have the same options.
function(pawl_test_precompiled target)
  get_property(first GLOBAL PROPERTY PAWL_TEST_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    target_link_libraries(${target} PRIVATE fmt::fmt)  # whose macro stands in those options
  else()
    target_precompile_headers(${target} PRIVATE ${pawl_test_headers})
    set_property(GLOBAL PROPERTY PAWL_TEST_PRECOMPILED ${target})
  endif()
endfunction()

# pawl_module(name [DEPENDS module...] [LIBRARIES target...] [SOURCES_TOGETHER] [TESTS_TOGETHER] [ALONE file...]
#   [TESTS_APART folder...])
# Collects every .cc of the current folder (and below) that is not a test. SOURCES_TOGETHER and TESTS_TOGETHER compile
# several files at once: most of a compilation goes into the same headers and templates again, so this takes a third of
# the time. ALONE: files whose helpers have the same names as another one's. TESTS_APART: folders whose tests are in another
# program.
function(pawl_module name)
  cmake_parse_arguments(ARG "SOURCES_TOGETHER;TESTS_TOGETHER" "" "DEPENDS;LIBRARIES;ALONE;TESTS_APART" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS *.cc)
  set(tests ${all})
  list(FILTER all EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  foreach(folder ${ARG_TESTS_APART})
    list(FILTER tests EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  endforeach()
  set(deps)
  foreach(dep ${ARG_DEPENDS})
    list(APPEND deps pawl_${dep})
  endforeach()
  if(NOT all)
    set(all ${PROJECT_SOURCE_DIR}/cmake/empty.cc)
  endif()
  add_library(pawl_${name} OBJECT ${all})
  target_link_libraries(pawl_${name} PUBLIC pawl_flags ${deps} ${ARG_LIBRARIES})
  if(ARG_SOURCES_TOGETHER)
    set_target_properties(pawl_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    set_property(GLOBAL APPEND PROPERTY PAWL_COMPILED_TOGETHER ${name})
    if(ARG_ALONE)
      set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY PAWL_MODULES pawl_${name})
  if(PAWL_TESTS AND tests)
    set(objects $<TARGET_OBJECTS:pawl_${name}>)
    pawl_objects_of(objects ${ARG_DEPENDS})
    set_property(GLOBAL PROPERTY PAWL_DEPENDS_${name} "${ARG_DEPENDS}")
    add_executable(${name}_test ${tests} ${objects})
    target_link_libraries(${name}_test PRIVATE pawl_${name} GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE ${pawl_test_options})
    pawl_test_precompiled(${name}_test)
    if(ARG_TESTS_TOGETHER)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
  else()
    set_property(GLOBAL PROPERTY PAWL_DEPENDS_${name} "${ARG_DEPENDS}")
  endif()
endfunction()

# Appends to `out` the objects of the named modules and of all they depend on.
macro(pawl_objects_of out)
  set(_queue ${ARGN})
  set(_seen)
  while(_queue)
    list(POP_FRONT _queue _next)
    if(NOT _next IN_LIST _seen)
      list(APPEND _seen ${_next})
      list(APPEND ${out} $<TARGET_OBJECTS:pawl_${_next}>)
      get_property(_more GLOBAL PROPERTY PAWL_DEPENDS_${_next})
      list(APPEND _queue ${_more})
    endif()
  endwhile()
endmacro()
