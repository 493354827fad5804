# One module per folder of src/: its objects go into libpawl, its *_test.cc files into one test program.

add_library(pawl_flags INTERFACE)
target_compile_options(pawl_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  -Wno-missing-field-initializers)  # our aggregates have default member values
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 wrongly reports uninitialised members in moved std::variants; valgrind and ASan check that.
  target_compile_options(pawl_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(PAWL_SANITIZE)
  target_compile_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all)
  if(PAWL_SANITIZE MATCHES undefined)
    # Expensive to build, and AddressSanitizer finds most of it as well.
    target_compile_options(pawl_flags INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  target_link_options(pawl_flags INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
target_include_directories(pawl_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
# One option for all, since some libraries need it and precompiled headers are shared.
target_compile_options(pawl_flags INTERFACE -pthread)

# Code outside src/ (tests, simulator, benchmarks) and the command line may include every folder of src/.
add_library(pawl_all_folders INTERFACE)
target_include_directories(pawl_all_folders INTERFACE ${PROJECT_SOURCE_DIR}/src)

# A folder of src/ may include only those that it names as DEPENDS: the compiler finds no other. Each folder has a
# separate include directory that holds only a link to it.
function(pawl_rights name)
  set(place ${PROJECT_BINARY_DIR}/rights/${name})
  file(MAKE_DIRECTORY ${place})
  if(NOT EXISTS ${place}/${name})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${place}/${name} SYMBOLIC)
  endif()
  target_include_directories(pawl_${name} PUBLIC ${place})
endfunction()

# The standard headers that nearly every source includes, parsed once for all of them. A build without it
# (PAWL_QUICK=OFF, and every sanitized one) shows that each source includes what it uses.
option(PAWL_QUICK "Precompiled headers and several sources to a compilation" ON)
set(pawl_headers <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <functional> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <variant>
  <vector> <fmt/format.h>)
function(pawl_precompiled target)
  if(NOT PAWL_QUICK OR PAWL_SANITIZE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY PAWL_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${pawl_headers})
    set_property(GLOBAL PROPERTY PAWL_PRECOMPILED ${target})
  endif()
endfunction()

# Compiles several sources of a target at once, except the named ones, whose helpers have the same names as others.
function(pawl_together target count)
  if(NOT PAWL_QUICK)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Tests are built once and run for seconds. With less optimisation g++ 12 wrongly reports broken bounds in moved
# strings.
set(pawl_test_options -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND pawl_test_options -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# The headers that nearly every test includes, parsed once for all of them.
set(pawl_test_headers <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <string> <unordered_map>
  <variant> <vector>)

# The first test program makes the headers that the others use too; all have the same options.
function(pawl_test_precompiled target)
  get_property(first GLOBAL PROPERTY PAWL_TEST_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    target_link_libraries(${target} PRIVATE fmt::fmt)  # its macro is part of those options
  else()
    target_precompile_headers(${target} PRIVATE ${pawl_test_headers})
    set_property(GLOBAL PROPERTY PAWL_TEST_PRECOMPILED ${target})
  endif()
endfunction()

# pawl_module(name [DEPENDS module...] [LIBRARIES target...] [TESTS_TOGETHER] [ALONE file...] [TESTS_APART folder...])
# Collects every .cc of the current folder (and below) that is not a test. Several are compiled at once: most of the
# time of a compilation goes into the same headers and templates. ALONE: files whose helpers have the same names as
# others. TESTS_APART: folders whose tests are in another program.
function(pawl_module name)
  cmake_parse_arguments(ARG "TESTS_TOGETHER" "" "DEPENDS;LIBRARIES;ALONE;TESTS_APART" ${ARGN})
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
  pawl_rights(${name})
  target_link_libraries(pawl_${name} PUBLIC pawl_flags ${deps} ${ARG_LIBRARIES})
  pawl_precompiled(pawl_${name})
  pawl_together(pawl_${name} 12 ${ARG_ALONE})
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
      pawl_together(${name}_test 6)
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
