# Moves between all kinds of stores: the tests need a PostgreSQL server and start their own Redis servers.
file(GLOB transfer_tests CONFIGURE_DEPENDS transfer/*_test.cc)
set(transfer_objects $<TARGET_OBJECTS:pawl_store>)
pawl_objects_of(transfer_objects core ledger base)
add_executable(store_transfer_test ${transfer_tests} conformance/history_test.cc conformance/fixture_test.cc redis/spanning_test.cc
  redis/server_test.cc ${transfer_objects})
target_link_libraries(store_transfer_test PRIVATE pawl_store GTest::gtest_main)
target_compile_options(store_transfer_test PRIVATE ${pawl_test_options})
pawl_test_precompiled(store_transfer_test)
add_test(NAME store_transfer COMMAND store_transfer_test --gtest_brief=1)
set_tests_properties(store_transfer PROPERTIES FIXTURES_REQUIRED postgres TIMEOUT 600
  ENVIRONMENT "PAWL_TEST_POSTGRES=${PROJECT_BINARY_DIR}/postgres_server.txt")
