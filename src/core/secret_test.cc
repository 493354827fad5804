#include "core/secret.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/entropy.h"
#include "base/format.h"
#include "core/test_job.h"

namespace pawl::core {

namespace {

// The hash of the bytes 0, 1, 2 ... under the key 0, 1, ... 15, as the authors' vectors_sip128 write it.
std::string sip_hash(std::size_t length) {
  const auto word = [](std::size_t from) {
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < 8; ++i) made |= (from + i) << (8 * i);
    return made;
  };
  SipHash hash({word(0), word(8)});
  std::size_t at = 0;
  for (; at + 8 <= length; at += 8) hash.add(word(at));
  std::string rest;
  for (; at < length; ++at) rest.push_back(static_cast<char>(at));
  const Bits128 made = hash.finish(rest);
  std::string text;
  for (const std::uint64_t half : {made.high, made.low})
    for (int i = 0; i < 8; ++i) text += format("{:02x}", (half >> (8 * i)) & 0xff);
  return text;
}

TEST(Secret, sip_hash_agrees_with_the_published_vectors) {
  EXPECT_EQ(sip_hash(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(sip_hash(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(sip_hash(7), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(sip_hash(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(sip_hash(15), "5493e99933b0a8117e08ec0f97cfc3d9");
  EXPECT_EQ(sip_hash(16), "6ee2a4ca67b054bbfd3315bf85230577");
  EXPECT_EQ(sip_hash(24), "2db479ae78bd50d8882a8a178a6132ad");
  EXPECT_EQ(sip_hash(63), "5150d1772f50834a503e069a973fbd7c");
}

TEST(Secret, is_drawn_anew_each_time) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> drawn;
  for (int i = 0; i < 1000; ++i) {
    const auto bits = draw_entropy();
    ASSERT_TRUE(bits);
    EXPECT_TRUE(drawn.emplace(bits->high, bits->low).second);
  }
}

constexpr JobSecret secret(Guid{11, 12});
constexpr Guid cause{21, 22};

// Stored identity: work that is handed out must keep its names over every version of the program.
TEST(Secret, names_are_made_as_they_always_were) {
  const Guid request = work_request(secret, cause);
  EXPECT_EQ(request.text(), "0e8b47a77ba1c482f37721bca5ed9a3b");
  EXPECT_EQ(key_of_work(request).text(), "630fd3b7603911eb531b230779aef1cf");
  EXPECT_EQ(format("{:x}", token_of(request, 1).raw()), "5e51e1972ca366d1");
  EXPECT_EQ(child_secret(secret, cause).raw().text(), "f106461d0d8795e0e46863dca87807a8");
}

TEST(Secret, of_a_job_gives_the_same_work_the_same_name_and_all_else_another) {
  const Guid request = work_request(secret, cause);
  EXPECT_EQ(work_request(secret, cause), request);
  EXPECT_NE(work_request(JobSecret(Guid{11, 13}), cause), request) << "another job with the same run number";
  EXPECT_NE(work_request(secret, Guid{21, 23}), request);
  EXPECT_NE(key_of_work(request), request);
  EXPECT_NE(token_of(request, 1), token_of(request, 2));
  EXPECT_EQ(child_secret(secret, cause), child_secret(secret, cause))
      << "a start that is repeated makes the same child";
  EXPECT_NE(child_secret(secret, cause).raw(), request);
}

TEST(Secret, tokens_fit_a_signed_integer_and_are_never_zero) {
  for (std::uint32_t run = 0; run < 10'000; ++run) {
    const std::uint64_t token = token_of(cause, run).raw();
    EXPECT_NE(token, 0u);
    EXPECT_EQ(token >> 63, 0u);
  }
}

// Two jobs that differ only in the secret: a run number that a restored store gave out twice.
TEST(Secret, two_jobs_with_one_run_number_ask_for_different_work) {
  std::set<Guid> requests;
  for (std::uint64_t drawn = 1; drawn <= 2; ++drawn) {
    TestJob job(one_worker());
    job.state.job.secret = JobSecret(Guid{drawn, 0});
    job.run();
    ASSERT_NE(job.state.find_work(ActivitySeq(1)), nullptr);
    EXPECT_FALSE(job.state.find_work(ActivitySeq(1))->plain_key);
    requests.insert(job.state.find_work(ActivitySeq(1))->request);
  }
  EXPECT_EQ(requests.size(), 2u);
}

TEST(Secret, a_job_from_before_there_were_secrets_names_its_work_as_before) {
  TestJob job(one_worker());
  job.run();
  const WorkItem& item = *job.state.find_work(ActivitySeq(1));
  EXPECT_TRUE(item.plain_key);
  const Guid begun = Guid::of_run(RunId(42)).derive(Guid::Purpose::start, 0);
  EXPECT_EQ(item.request, begun.derive(Guid::Purpose::transition, 0).derive(Guid::Purpose::request, 0));
}

}  // namespace

}  // namespace pawl::core
