#include "model.h"

namespace storm {

namespace {

ExpectedActivity trigger(const std::string& input) { return {"", 0, ",0", input, input}; }

ExpectedActivity works(std::string topic, std::int64_t node, std::string place, const std::string& input) {
  const std::string name = topic.substr(topic.find('.') + 1);
  return {std::move(topic), node, std::move(place), input, input + "/" + name};
}

ExpectedJob chain(const std::string& in) {
  return {status_completed,
          in + "/one/two/three",
          "",
          {trigger(in), works("chain.one", 1, ",0,0", in), works("chain.two", 2, ",0,0,0", in + "/one"),
           works("chain.three", 3, ",0,0,0,0", in + "/one/two")}};
}

ExpectedJob fan(const std::string& in) {
  return {status_completed,
          in + "/left/leaf",
          "",
          {trigger(in), works("fan.left", 1, ",0,0", in), works("fan.mid", 2, ",0,0", in),
           works("fan.right", 3, ",0,0", in), works("fan.leaf", 4, ",0,0,0", in + "/left")}};
}

// Two interim reports and the last one: three planes, a note in each.
ExpectedJob pend(const std::string& in) {
  ExpectedActivity ship = works("pend.ship", 1, ",0,0", in);
  ship.messages = 3;
  return {status_completed,
          in + "/ship",
          "",
          {trigger(in), ship, works("pend.note", 2, ",0,0,0", in + "/ship.0"),
           works("pend.note", 2, ",0,1,0", in + "/ship.1"), works("pend.note", 2, ",0,2,0", in + "/ship")}};
}

ExpectedJob caught(const std::string& in) {
  ExpectedActivity risky = works("caught.risky", 1, ",0,0", in);
  risky.output = in + "/risky!";
  risky.status = activity_errored;
  risky.code = 402;
  return {status_completed,
          in + "/risky!/refund",
          "",
          {trigger(in), risky, works("caught.refund", 2, ",0,0,0", in + "/risky!")}};
}

ExpectedJob doomed(const std::string& in) {
  ExpectedActivity fatal = works("doomed.fatal", 1, ",0,0", in);
  fatal.output = in + "/fatal!";
  fatal.status = activity_errored;
  fatal.code = 500;
  ExpectedActivity side = works("doomed.side", 2, ",0,0", in);
  side.may_be_cut = true;
  return {status_failed, "", "activity fatal failed with code 500: " + in + "/fatal!", {trigger(in), fatal, side}};
}

}  // namespace

// A child's name is made of its parent's name, the activity that starts it and that activity's address. The payload is
// the parent's id.
std::optional<ExpectedFamily> expect_family(const std::string& id, const std::string& graph) {
  const std::string word = "{\"word\":\"" + id + "\"}";
  const auto of = [&](const char* name) { return std::string("{\"") + name + "\":\"" + id + "\"}"; };
  const ExpectedAppJob waits{"tide/tide.wait", of("heard"), {"tide.then"}};
  if (graph == "tide/tide.await")
    return ExpectedFamily{
        {graph, of("said"), {"tide.after"}}, {"tide/tide.work", of("worked"), {"tide.work"}}, id + "/await.0.0", word};
  if (graph == "tide/tide.call")
    return ExpectedFamily{{graph, of("heard"), {"tide.before"}}, waits, id + "/call.0.0", word};
  if (graph == "tide/tide.leave") return ExpectedFamily{{graph, "{}", {}}, waits, id + "/leave.0.0", word};
  return std::nullopt;
}

std::optional<ExpectedJob> expect(const std::string& graph, const std::string& input) {
  if (graph == "chain") return chain(input);
  if (graph == "fan") return fan(input);
  if (graph == "pend") return pend(input);
  if (graph == "caught") return caught(input);
  if (graph == "doomed") return doomed(input);
  return std::nullopt;
}

}  // namespace storm
