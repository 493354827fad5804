# The tests of the Redis store, with the whole contract. They start their own servers. A few large tests instead of many
# small ones: each of them starts a server.
file(GLOB redis_tests CONFIGURE_DEPENDS redis/*_test.cc)
set(redis_objects $<TARGET_OBJECTS:pawl_store> $<TARGET_OBJECTS:store_conformance>)
pawl_objects_of(redis_objects core ledger base)
add_executable(store_redis_test ${redis_tests} ${redis_objects})
target_link_libraries(store_redis_test PRIVATE pawl_store GTest::gtest_main)
target_compile_options(store_redis_test PRIVATE ${pawl_test_options})
pawl_test_precompiled(store_redis_test)
pawl_together(store_redis_test 6)

function(redis_test name filter)
  add_test(NAME store_redis.${name} COMMAND store_redis_test --gtest_filter=${filter} --gtest_brief=1)
  set_tests_properties(store_redis.${name} PROPERTIES TIMEOUT 600)
endfunction()
redis_test(histories "*Histories*")
redis_test(tenants "*Tenants*")
redis_test(contract "*-*Histories*:*Tenants*:Redis*")
redis_test(own "Redis*")
# A part of the contract on three masters: what crosses lanes, what is numbered by lane, and histories of everything.
redis_test(cluster "*Histories*seed_1:*Children*:*Sends*:*Sources*:*SignalIds*:*Lists*:*Duplex.*:*Groups*:*LostReplies*:*Removals*:*ReusedIds*")
set_tests_properties(store_redis.cluster PROPERTIES ENVIRONMENT PAWL_TEST_CLUSTER=1)
