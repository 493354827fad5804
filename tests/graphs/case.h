// A case of the graph conformance suite, as in tests/graphs/*.yaml (README.md describes the format).
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
  boost::json::value data;                    // "$input" anywhere in it is replaced by the request
  std::vector<boost::json::value> pending;    // replies before the last one
  std::uint32_t fails = 0;                    // this many attempts fail first
  std::vector<std::int32_t> fails_with{500};  // the first attempt with the first code, and so on; the last one repeats
  bool silent = false;                        // no reply
  bool twice = false;                         // the last reply is sent twice
  std::optional<boost::json::value>
      before_redrive;  // the reply until the job was redriven: then the worker is corrected
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
  std::optional<std::vector<std::string>> addresses;  // in the same order
  std::optional<std::string> status;                  // of the last instance
  std::optional<std::int32_t> code;
  std::optional<boost::json::value> output;
};

struct CaseJob {
  std::optional<std::string> status;
  std::optional<boost::json::value> data;         // the job's data, exactly
  std::optional<std::string> reason;              // a part of it
  std::optional<std::int32_t> code;               // of the error that ended it
  std::optional<std::pair<double, double>> took;  // seconds from its start to its end: [at least, less than]
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
  std::uint32_t redrives = 0;   // how often it is redriven when it is parked
  CaseJob expect;
  std::map<std::string, CaseJob> jobs;         // others by id
  std::map<std::string, std::uint32_t> calls;  // how often a topic's worker is called without a fault
  std::optional<boost::json::array> measures;  // of all graphs: {key, target, value, count, sum}
  std::optional<boost::json::array> labels;    // {graph, name, value, jobs}: ids in the order of their names
};

// All cases of a file. Throws std::runtime_error with the position of what it does not understand.
std::vector<Case> read_cases(const std::string& path);

}  // namespace pawl::graphs
