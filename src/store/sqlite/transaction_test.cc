// Transaction without the rest of the writer: operations are numbers, and each writes one row.
#include "store/sqlite/transaction.h"

#include <functional>

#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class TransactionTest : public FileTest {
 protected:
  void SetUp() override {
    auto file = open_file(path(), {}, migrations());
    ASSERT_TRUE(file);
    transaction_ = std::make_unique<Transaction>(std::move(*file), clock_);
    ASSERT_TRUE(transaction_->prepare());
    ASSERT_EQ(put_.prepare(transaction_->connection().handle(), "INSERT INTO paused_topics (topic) VALUES (?1)"),
              SQLITE_OK);
  }
  // What apply answers for a number after it wrote the row.
  using After = std::function<void(int, Applied&)>;
  Result<std::vector<Outcome>> commit(const std::vector<int>& group, const After& after) {
    return transaction_->commit<Outcome>(
        std::span<const int>(group), [this] { ++begun_; },
        [&](int number) {
          doubts_.push_back(transaction_->in_doubt());
          if (put_.run(std::to_string(number)) == Statement::failed) return failed(put_);
          Applied applied{SQLITE_OK, true, {}};
          after(number, applied);
          return applied;
        },
        [] { return SQLITE_OK; });
  }
  std::string rows() {
    return raw("SELECT group_concat(topic, ' ') FROM (SELECT topic FROM paused_topics ORDER BY 1)");
  }

  std::unique_ptr<Transaction> transaction_;
  Statement put_;
  int begun_ = 0;
  std::vector<bool> doubts_;  // one for each call of apply
};

TEST_F(TransactionTest, a_group_without_a_refusal_is_applied_once) {
  const auto done = commit({1, 2}, [](int, Applied&) {});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->size(), 2u);
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(doubts_, (std::vector<bool>{false, false}));
  EXPECT_EQ(rows(), "1 2");
  EXPECT_GE(transaction_->row_writes(), 2);
}

TEST_F(TransactionTest, what_is_refused_after_its_write_is_undone_alone_in_a_second_pass) {
  const auto done = commit({1, 2, 3}, [](int number, Applied& applied) {
    if (number == 2) applied.outcome.kind = OutcomeKind::rejected;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ((*done)[0].kind, OutcomeKind::committed);
  EXPECT_EQ((*done)[1].kind, OutcomeKind::rejected);
  EXPECT_EQ((*done)[2].kind, OutcomeKind::committed);
  EXPECT_EQ(begun_, 2) << "what was known of the first pass is forgotten";
  EXPECT_EQ(doubts_, (std::vector<bool>{false, false, true, true, true}));
  EXPECT_EQ(rows(), "1 3");
}

TEST_F(TransactionTest, what_sqlite_refuses_of_one_operation_rejects_that_one) {
  const auto done = commit({1, 1, 2}, [](int, Applied&) {});  // a topic is paused once
  ASSERT_TRUE(done);
  EXPECT_EQ((*done)[1].kind, OutcomeKind::rejected);
  EXPECT_NE((*done)[1].reason.find("UNIQUE"), std::string::npos) << (*done)[1].reason;
  EXPECT_EQ(rows(), "1 2");
}

TEST_F(TransactionTest, what_may_pass_fails_the_group_and_leaves_nothing) {
  const auto done = commit({1, 2}, [](int number, Applied& applied) {
    if (number == 2) applied.code = SQLITE_FULL;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::retry_later);
  EXPECT_TRUE(transaction_->disk_full());
  EXPECT_EQ(rows(), "");
  ASSERT_TRUE(commit({3}, [](int, Applied&) {}));
  EXPECT_FALSE(transaction_->disk_full());
  EXPECT_EQ(rows(), "3");
}

TEST_F(TransactionTest, commits_are_numbered_without_a_gap_and_places_within_them) {
  std::vector<std::int64_t> places;
  const auto note = [&](int, Applied&) { places.push_back(transaction_->next_position()); };
  ASSERT_TRUE(commit({1, 2}, note));
  const std::int64_t first = transaction_->number();
  ASSERT_TRUE(commit({3}, note));
  EXPECT_EQ(transaction_->number(), first + 1);
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[1], places[0] + 1);
  EXPECT_LT(places[1], places[2]);
}

}  // namespace pawl::store::sqlite
