# The environment of the tests of a sanitized build. ctest itself reads it, so `make asan`, `make tsan` and a bare ctest
# in their folders do the same. Values that a person sets in the environment come later and win.
if(NOT PAWL_SANITIZE)
  return()
endif()
file(WRITE ${PROJECT_BINARY_DIR}/sanitizers_ctest.cmake [[
# Tests fork processes that have threads, and the children make threads too: without this ThreadSanitizer ends them.
set(ENV{TSAN_OPTIONS} "die_after_fork=0:second_deadlock_stack=1:$ENV{TSAN_OPTIONS}")
set(ENV{ASAN_OPTIONS} "detect_stack_use_after_return=1:strict_string_checks=1:$ENV{ASAN_OPTIONS}")
set(ENV{UBSAN_OPTIONS} "print_stacktrace=1:$ENV{UBSAN_OPTIONS}")
set(ENV{PAWL_SANITIZED} 1)  # for scripts
]])
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/sanitizers_ctest.cmake)
