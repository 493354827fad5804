// Compressed payloads of ended jobs: what is in the file, what every reader sees, and what damage looks like.
#include <set>
#include <thread>

#include "base/format.h"
#include "base/random.h"
#include "store/sqlite/fault_vfs.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class PackedTest : public FileTest {
 protected:
  static constexpr std::uint64_t concluded = 1'111'000'000'001;  // work done
  static constexpr std::size_t from = 1'000;

  static Payload text(char byte = 'x', std::size_t bytes = 20'000) { return Payload(std::string(bytes, byte)); }
  static Payload noise(std::size_t bytes = 20'000) {
    Random random(7);
    std::string all;
    for (std::size_t i = 0; i < bytes; ++i) all += static_cast<char>(random.next());
    return Payload(std::move(all));
  }
  void open_packing(std::size_t bytes = from) {
    Options options;
    options.compress_payloads = bytes;
    open_bench(options);
  }
  static core::Activity answered(std::uint32_t seq, Payload output) {
    core::Activity made = activity(seq, concluded);
    made.status = core::ActivityStatus::completed;
    made.output = std::move(output);
    return made;
  }
  // A job of two activities. The second one's output is its result, its data is `data`.
  RunId begin(const std::string& id, const Payload& first, const Payload& data) {
    const RunId run = submit(id);
    core::Bundle step = bundle_with(run, {core::PutActivity{std::nullopt, answered(0, first)},
                                          core::PutActivity{std::nullopt, activity(1)}});
    std::get<core::JobHead>(step.head).data = data;
    EXPECT_EQ(kind_of(std::move(step)), OutcomeKind::committed);
    return run;
  }
  void end(RunId run, const Payload& output, const Payload& result) {
    core::Bundle last = bundle_with(run, {core::PutActivity{activity(1).ledger, answered(1, output)}});
    auto& head = std::get<core::JobHead>(last.head);
    head.status = core::JobStatus::completed;
    head.closed_at = clock_.now();
    head.completions = 1;
    head.result = result;
    ASSERT_EQ(kind_of(std::move(last)), OutcomeKind::committed);
  }
  RunId run_job(const std::string& id, const Payload& payload = text()) {
    const RunId run = begin(id, payload, payload);
    end(run, payload, payload);
    return run;
  }
  void expect_job(RunId run) {
    const StoredJob read = job(run);
    EXPECT_EQ(read.state.job.status, core::JobStatus::completed);
    EXPECT_TRUE(read.state.activities()[0].output == noise());
    EXPECT_TRUE(read.state.activities()[1].output == text());
    EXPECT_TRUE(read.state.job.result == text());
    EXPECT_TRUE(read.state.job.data == text());
  }
  std::string packed() const { return raw("SELECT count(*) FROM packed_payloads"); }
  void expect_payloads(RunId run, const Payload& payload) {
    const StoredJob read = job(run);
    EXPECT_TRUE(read.state.activities()[0].output == payload);
    EXPECT_TRUE(read.state.activities()[1].output == payload);
    EXPECT_TRUE(read.state.job.result == payload);
    EXPECT_TRUE(read.state.job.data == payload);
    const auto row = store_->read_job_row(run);
    ASSERT_TRUE(row && *row);
    EXPECT_TRUE((*row)->result == payload);
    EXPECT_TRUE((*row)->data == payload);
  }
};

TEST_F(PackedTest, nothing_is_compressed_unless_it_is_asked_for) {
  open_bench();
  expect_payloads(run_job("a"), text());
  EXPECT_EQ(packed(), "0");
}

TEST_F(PackedTest, the_payloads_of_a_job_are_compressed_when_it_ends) {
  open_packing();
  const RunId run = begin("a", text(), text());
  EXPECT_EQ(packed(), "0") << "it runs";
  end(run, text(), text());
  EXPECT_EQ(packed(), "3") << "two outputs and the data; the result is one of the outputs";
  EXPECT_EQ(raw("SELECT sum(bytes) FROM packed_payloads"), "60000");
  EXPECT_LT(std::stoi(raw("SELECT sum(length(body)) FROM packed_payloads")), 1'000);
  expect_payloads(run, text());
}

TEST_F(PackedTest, a_result_of_its_own_is_compressed_too) {
  open_packing();
  const RunId run = begin("a", text(), "{}");
  end(run, text(), text('r'));
  EXPECT_EQ(packed(), "3");
  EXPECT_TRUE(job(run).state.job.result == text('r'));
}

TEST_F(PackedTest, small_ones_and_what_does_not_get_smaller_stay_where_they_are) {
  open_packing();
  expect_payloads(run_job("small", text('x', from - 1)), text('x', from - 1));
  expect_payloads(run_job("noise", noise()), noise());
  EXPECT_EQ(packed(), "0");
  expect_payloads(run_job("large enough", text('x', from)), text('x', from));
  EXPECT_EQ(packed(), "3");
}

TEST_F(PackedTest, of_a_large_job_only_so_much_is_compressed_in_the_commit_that_ends_it) {
  open_packing();
  const RunId run = submit("a");
  const Payload large(std::string(pawl::limits::payload_bytes_max, 'x'));
  const std::size_t count = limits::packed_per_job_bytes_max / large.size() + 1;
  for (std::uint32_t seq = 0; seq < count; ++seq)
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, answered(seq, large)}})),
              OutcomeKind::committed);
  core::Bundle last = bundle_with(run, {core::PutActivity{std::nullopt, activity(static_cast<std::uint32_t>(count))}});
  auto& head = std::get<core::JobHead>(last.head);
  head.status = core::JobStatus::failed;
  head.closed_at = clock_.now();
  head.completions = 1;
  ASSERT_EQ(kind_of(std::move(last)), OutcomeKind::committed);
  EXPECT_EQ(packed(), format("{}", count - 1));
  for (std::uint32_t seq = 0; seq < count; ++seq) EXPECT_TRUE(job(run).state.activities()[seq].output == large);
}

TEST_F(PackedTest, they_are_read_without_the_setting_and_go_with_their_job) {
  open_packing();
  const RunId one = run_job("one");
  const RunId other = run_job("other", text('y'));
  store_.reset();
  store_ = make({.clock = &clock_});
  expect_payloads(one, text());
  ASSERT_EQ(kind_of(RemoveJob{one, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(packed(), "3");
  expect_payloads(other, text('y'));
  ASSERT_EQ(kind_of(RemoveJob{other, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(packed(), "0");
}

TEST_F(PackedTest, a_list_has_them) {
  open_packing();
  run_job("a");
  ListQuery query;
  for (const bool bare : {false, true}) {
    query.names_only = bare;
    const auto list = store_->list_jobs(query);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 1u);
    EXPECT_TRUE(list->front().result == (bare ? Payload() : text()));
  }
}

// The shell cannot unpack them.
TEST_F(PackedTest, the_views_say_how_large_they_are) {
  open_packing();
  run_job("a");
  const std::string shown = "20000 bytes, compressed: see pawl show";
  EXPECT_EQ(raw("SELECT output FROM activity_view WHERE seq = 0"), shown);
  EXPECT_EQ(raw("SELECT result FROM job_view"), shown);
  EXPECT_EQ(raw("SELECT data FROM job_view"), shown);
  run_job("b", text('x', 10));
  EXPECT_EQ(raw("SELECT result FROM job_view WHERE job_id = 'b'"), "xxxxxxxxxx");
  EXPECT_EQ(raw("SELECT output FROM activity_view WHERE job_id = 'b' AND seq = 0"), "xxxxxxxxxx");
}

TEST_F(PackedTest, what_is_missing_or_damaged_is_a_damaged_row_with_its_name) {
  const char* const damages[] = {
      "DELETE FROM packed_payloads",
      "UPDATE packed_payloads SET body = 'text'",
      "UPDATE packed_payloads SET body = x''",
      "UPDATE packed_payloads SET body = substr(body, 1, length(body) - 5)",
      // a bit of the checksum at the frame's end
      "UPDATE packed_payloads SET body = CAST(substr(body, 1, length(body) - 1) || x'00' AS BLOB)",
      "UPDATE packed_payloads SET body = zeroblob(100)",
  };
  open_packing();
  const RunId run = run_job("a");
  ASSERT_TRUE(sqlite().verify());
  const std::string whole = raw("SELECT hex(group_concat(id || ' ' || hex(body))) FROM packed_payloads");
  raw("CREATE TABLE kept AS SELECT * FROM packed_payloads");
  for (const char* damage : damages) {
    raw(damage);
    const auto read = store_->read_job(run);
    ASSERT_FALSE(read) << damage;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt) << damage;
    EXPECT_NE(read.error().detail.find("default/a"), std::string::npos) << read.error().detail;
    const auto row = store_->read_job_row(run);
    ASSERT_FALSE(row) << damage;
    EXPECT_EQ(row.error().code, ErrorCode::corrupt) << damage;
    const auto verified = sqlite().verify();
    ASSERT_FALSE(verified) << damage;
    EXPECT_EQ(verified.error().code, ErrorCode::corrupt) << damage;
    EXPECT_NE(verified.error().detail.find(format("run {}", run.raw())), std::string::npos) << verified.error().detail;
    raw("DELETE FROM packed_payloads; INSERT INTO packed_payloads SELECT * FROM kept");
    expect_payloads(run, text());
  }
}

// A frame says how large its payload is. That is believed only up to a limit.
TEST_F(PackedTest, a_frame_that_says_it_is_huge_is_damage_and_takes_no_memory) {
  open_packing();
  const RunId run = run_job("a");
  // The head of a frame with a content size of 8 bytes: 2^40.
  raw("UPDATE packed_payloads SET body = x'28B52FFDE0000000000001000001000000'");
  const auto read = store_->read_job(run);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
}

// On a disk that does not return every page.
class PackedFaultTest : public PackedTest {
 protected:
  using Places = std::set<sqlite3_int64>;
  void SetUp() override { test::FaultVfs::install(); }
  void TearDown() override { test::set_fault_plan(nullptr); }
  Options options(std::size_t bytes) {
    Options options{.clock = &clock_};
    options.vfs = test::FaultVfs::name;
    options.compress_payloads = bytes;
    return options;
  }
  // No page is in memory.
  void open_cold(std::size_t bytes) {
    test::set_fault_plan(nullptr);
    store_.reset();
    store_ = make(options(bytes));
    ASSERT_NE(store_, nullptr);
  }
  // Reads of this thread at these places fail. `read_` has all that it read.
  void break_at(std::function<bool(sqlite3_int64)> is_bad) {
    read_.clear();
    test::set_fault_plan(
        [this, is_bad = std::move(is_bad), self = std::this_thread::get_id()](test::Call call, std::string_view file) {
          if (call != test::Call::read || file != path() || std::this_thread::get_id() != self) return SQLITE_OK;
          const sqlite3_int64 at = test::fault_plan_holder().at;
          read_.insert(at);
          return is_bad(at) ? SQLITE_IOERR_READ : SQLITE_OK;
        });
  }
  Places read_;
};

TEST_F(PackedFaultTest, a_page_that_is_not_read_is_an_error_and_no_empty_payload) {
  open_bench(options(from));
  const RunId run = begin("a", "{}", text('d'));
  end(run, "{}", text('r'));
  const auto read_row = [&]() -> Result<core::JobRow> {
    const auto row = store_->read_job_row(run);
    if (!row) return row.error();
    return **row;
  };
  const auto read_whole = [&]() -> Result<core::JobRow> {
    const auto whole = store_->read_job(run);
    if (!whole) return whole.error();
    return (*whole)->state.job;
  };
  for (const auto& read : {std::function<Result<core::JobRow>()>(read_row), std::function(read_whole)}) {
    open_cold(from);
    break_at([](sqlite3_int64) { return false; });
    ASSERT_TRUE(read());
    const Places all = read_;
    ASSERT_GT(all.size(), 1u) << "a row of the job, and one of packed_payloads";
    std::size_t failed = 0;
    for (const sqlite3_int64 bad : all) {
      open_cold(from);
      break_at([bad](sqlite3_int64 at) { return at == bad; });
      const auto row = read();
      if (row) {
        EXPECT_TRUE(row->data == text('d')) << bad;
        EXPECT_TRUE(row->result == text('r')) << bad;
      } else {
        EXPECT_EQ(row.error().code, ErrorCode::retry_later) << to_string(row.error());
        ++failed;
      }
    }
    EXPECT_EQ(failed, all.size());
    test::set_fault_plan(nullptr);
  }
}

TEST_F(PackedFaultTest, a_job_whose_payload_cannot_be_read_ends_all_the_same) {
  // Claim: what is read only to compress it never keeps a job from its end. Checked with every page that the commit
  // reads with the setting and not without it.
  open_bench(options(from));
  const RunId run = begin("a", noise(), text());
  const auto ended = [&] {
    core::Bundle last = bundle_with(run, {core::PutActivity{activity(1).ledger, answered(1, text())}});
    auto& head = std::get<core::JobHead>(last.head);
    head.status = core::JobStatus::completed;
    head.closed_at = clock_.now();
    head.completions = 1;
    head.result = text();
    return last;
  };
  store_.reset();
  std::filesystem::copy_file(path(), path() + ".good");
  const auto end_with = [&](std::size_t bytes, sqlite3_int64 bad) {
    store_.reset();
    std::filesystem::copy_file(path() + ".good", path(), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(owner_path(path()));  // it counts the commits of the file before
    open_cold(bytes);
    core::Bundle last = ended();
    break_at([bad](sqlite3_int64 at) { return at == bad; });
    const std::vector<Operation> group{std::move(last)};
    const auto outcomes = store_->commit(group);
    test::set_fault_plan(nullptr);
    EXPECT_TRUE(outcomes);
    return outcomes ? outcomes->front() : Outcome{};
  };
  ASSERT_EQ(end_with(0, -1).kind, OutcomeKind::committed);
  const Places plain = read_;
  ASSERT_EQ(end_with(from, -1).kind, OutcomeKind::committed);
  const Places packing = read_;
  int tried = 0;
  for (const sqlite3_int64 bad : packing) {
    if (plain.contains(bad)) continue;
    ++tried;
    const Outcome outcome = end_with(from, bad);
    EXPECT_EQ(outcome.kind, OutcomeKind::committed) << bad << ": " << outcome.reason;
    expect_job(run);
  }
  EXPECT_GT(tried, 5);
}

TEST_F(PackedTest, an_ended_job_that_is_written_again_keeps_what_others_refer_to) {
  open_packing();
  const RunId run = run_job("a");
  core::Bundle again = bundle_with(run, {core::PutActivity{answered(1, "").ledger, answered(1, "other")}});
  auto& head = std::get<core::JobHead>(again.head);
  head.status = core::JobStatus::completed;
  head.closed_at = clock_.now();
  head.completions = head.completions_before = 1;
  ASSERT_EQ(kind_of(std::move(again)), OutcomeKind::committed);
  EXPECT_TRUE(job(run).state.activities()[1].output == Payload("other"));
  EXPECT_TRUE(job(run).state.job.result == text()) << "it referred to what the output was";
  ASSERT_TRUE(sqlite().verify());
}

TEST_F(PackedTest, a_file_from_before_is_read_and_its_jobs_end_compressed) {
  const auto steps = migrations();
  std::size_t before = 0;  // the steps before packed_payloads
  while (before < steps.size() && std::string_view(steps[before]).find("packed_payloads") == std::string_view::npos)
    ++before;
  ASSERT_LT(before, steps.size());
  { ASSERT_TRUE(open_file(path(), {}, steps.first(before))); }
  open_packing();
  expect_payloads(run_job("a"), text());
  EXPECT_EQ(packed(), "3");
  EXPECT_EQ(raw("SELECT status FROM job_view"), "completed");
}

}  // namespace pawl::store::sqlite
