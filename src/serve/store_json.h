// What is asked of a whole store, as JSON, and back: how it is doing, what was asked of many jobs, what a signal would
// reach. What is missing in an answer keeps its default, as in read_json.h.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "pawl/bulk.h"
#include "pawl/survey.h"
#include "pawl/view.h"

namespace pawl {

boost::json::object survey_object(const Survey& survey);
boost::json::object bulk_object(const BulkSummary& summary, bool dry_run);
boost::json::array diagnoses_array(const std::vector<Diagnosis>& found);
boost::json::object fate_object(const SignalFate& fate);

namespace serve {

Survey read_survey(const boost::json::object& object);
BulkSummary read_bulk(const boost::json::object& object);
Diagnosis read_diagnosis(const boost::json::object& object);
SignalFate read_fate(const boost::json::object& object);

}  // namespace serve
}  // namespace pawl
