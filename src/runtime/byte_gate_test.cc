#include "runtime/byte_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace pawl::runtime {

namespace {

using namespace std::chrono_literals;
using Wait = ByteGate::Wait;
using Pass = ByteGate::Pass;

TEST(ByteGateTest, lets_in_one_more_however_large_and_then_nobody) {
  ByteGate gate(100);
  EXPECT_EQ(gate.enter(99, Wait::no), Pass::in);
  EXPECT_EQ(gate.enter(5000, Wait::no), Pass::in);
  EXPECT_EQ(gate.enter(1, Wait::no), Pass::full);
  gate.turn(5099, 100, false);  // all of it is with the engine, where it takes less
  EXPECT_EQ(gate.enter(1, Wait::no), Pass::full);
  gate.turn(0, 99, false);
  EXPECT_EQ(gate.enter(1, Wait::no), Pass::in);
  EXPECT_EQ(gate.enter(1, Wait::no), Pass::full);
  gate.leave(1);
  EXPECT_EQ(gate.enter(1, Wait::no), Pass::in);
}

TEST(ByteGateTest, who_waits_is_let_in_when_there_is_room) {
  ByteGate gate(100);
  gate.add(100);
  std::atomic<int> in{0};
  std::thread caller([&] {
    EXPECT_EQ(gate.enter(10, Wait::yes), Pass::in);
    ++in;
  });
  std::thread worker([&] {
    gate.wait_for_room();
    ++in;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(in, 0);
  gate.turn(100, 0, false);
  caller.join();
  worker.join();
  EXPECT_EQ(in, 2);
}

TEST(ByteGateTest, a_store_that_takes_no_writes_is_heard_of_at_once_and_keeps_workers_from_beginning) {
  ByteGate gate(100);
  gate.turn(0, 1000, true);
  EXPECT_EQ(gate.enter(10, Wait::yes), Pass::in);  // the engine refuses it, with the store's reason
  std::atomic<bool> begun{false};
  std::thread worker([&] {
    gate.wait_for_room();
    begun = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(begun);
  gate.close();
  worker.join();
  EXPECT_EQ(gate.enter(10, Wait::yes), Pass::closed);
}

}  // namespace

}  // namespace pawl::runtime
