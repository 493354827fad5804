# The tests of the PostgreSQL store, with the conformance suite, over a server that is started for them.
file(GLOB postgres_tests CONFIGURE_DEPENDS postgres/*_test.cc)
set(postgres_objects $<TARGET_OBJECTS:pawl_store> $<TARGET_OBJECTS:store_conformance>)
pawl_objects_of(postgres_objects core ledger base)
add_executable(store_postgres_test ${postgres_tests} ${postgres_objects})
target_link_libraries(store_postgres_test PRIVATE pawl_store GTest::gtest_main)
target_compile_options(store_postgres_test PRIVATE ${pawl_test_options})
pawl_test_precompiled(store_postgres_test)
pawl_together(store_postgres_test 6)

add_executable(postgres_server ${PROJECT_SOURCE_DIR}/tests/postgres_server.cc)
target_link_libraries(postgres_server PRIVATE pawl_flags pawl_all_folders)
set(postgres_state ${PROJECT_BINARY_DIR}/postgres_server.txt)
add_test(NAME store_postgres.server_starts COMMAND postgres_server start ${postgres_state})
add_test(NAME store_postgres.server_stops COMMAND postgres_server stop ${postgres_state})
set_tests_properties(store_postgres.server_starts PROPERTIES FIXTURES_SETUP postgres TIMEOUT 120)
set_tests_properties(store_postgres.server_stops PROPERTIES FIXTURES_CLEANUP postgres TIMEOUT 120)
# A few large tests instead of a thousand small ones: starting a process for each would take longer than the test
# itself.
set(postgres_parts 8)
math(EXPR last_part "${postgres_parts} - 1")
foreach(part RANGE ${last_part})
  add_test(NAME store_postgres.part_${part} COMMAND store_postgres_test --gtest_brief=1)
  set_tests_properties(store_postgres.part_${part} PROPERTIES FIXTURES_REQUIRED postgres TIMEOUT 900
    ENVIRONMENT "PAWL_TEST_POSTGRES=${postgres_state};GTEST_TOTAL_SHARDS=${postgres_parts};GTEST_SHARD_INDEX=${part}")
endforeach()
