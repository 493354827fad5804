// A case of the graph conformance suite, as tests/graphs/*.yaml write it (README.md says how).
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::graphs {

struct CaseReply {
  std::string status = "success";  // success, error, fatal
  std::int32_t code = 200;
  boost::json::value data;                    // "$input" anywhere in it stands for the request
  std::vector<boost::json::value> pending;    // said before the last one
  std::uint32_t fails = 0;                    // so many tries fail first
  std::vector<std::int32_t> fails_with{500};  // the first of them with the first, and so on; the last one repeats
  bool silent = false;                        // never answered
  bool twice = false;                         // the last answer is given once more
  std::optional<boost::json::value>
      before_redrive;  // said instead until the job was redriven: the worker is mended then
};

struct CaseSignal {
  std::string after;               // "start", "end", or an activity that must be open
  std::optional<std::int64_t> at;  // instead: microseconds after the start
  std::string topic;
  boost::json::value data;
  bool pending = false;
  std::int32_t code = 0;
  std::uint32_t times = 1;
};

struct CaseStart {
  std::string topic;
  std::string id;
  boost::json::value input;
};

struct CaseActivity {
  std::optional<std::uint32_t> count;
  std::optional<std::vector<std::string>> ledgers;    // in the order they were opened; x is any digit
  std::optional<std::vector<std::string>> addresses;  // likewise
  std::optional<std::string> status;                  // of the last instance
  std::optional<std::int32_t> code;
  std::optional<boost::json::value> output;
};

struct CaseJob {
  std::optional<std::string> status;
  std::optional<boost::json::value> data;         // the job's data, exactly
  std::optional<std::string> reason;              // a part of it
  std::optional<std::int32_t> code;               // of the error that ended it
  std::optional<std::pair<double, double>> took;  // seconds from its start to its end: not less, and less
  std::map<std::string, CaseActivity> activities;
  std::optional<boost::json::array> announced;  // in order: {end, code, data}
};

struct Case {
  std::string name;
  std::string app;
  CaseStart start;
  std::vector<CaseStart> before;  // other jobs, started first
  std::map<std::string, std::vector<CaseReply>> workers;
  std::vector<CaseSignal> signals;
  std::string interrupt_after;  // the job is interrupted once this activity is open
  std::uint32_t redrives = 0;   // so often it is redriven when it is parked
  CaseJob expect;
  std::map<std::string, CaseJob> jobs;         // others by id
  std::map<std::string, std::uint32_t> calls;  // how often a topic's worker is run without a fault
  std::optional<boost::json::array> measures;  // of all graphs: {key, target, value, count, sum}
  std::optional<boost::json::array> labels;    // {graph, name, value, jobs}: ids in the order of their names
};

// All cases of a file. Throws std::runtime_error with the place of what it does not understand.
std::vector<Case> read_cases(const std::string& path);

}  // namespace pawl::graphs
