// symbol: values that are hard to write in JSON.
#include "mapping/calendar.h"
#include "mapping/functions/operands.h"

#include <limits>

namespace pawl::mapping {

namespace json = boost::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Result<Operand> null(Call&, Operands) { return Operand::null(); }
Result<Operand> undefined(Call&, Operands) { return Operand(); }
Result<Operand> whitespace(Call&, Operands) { return Operand::text(" "); }
Result<Operand> object(Call&, Operands) { return Operand(json::object()); }
Result<Operand> array(Call&, Operands) { return Operand(json::array()); }
Result<Operand> positive_infinity(Call&, Operands) { return Operand::number(infinity); }
Result<Operand> negative_infinity(Call&, Operands) { return Operand::number(-infinity); }
Result<Operand> not_a_number(Call&, Operands) { return Operand::number(std::numeric_limits<double>::quiet_NaN()); }
Result<Operand> date(Call& call, Operands) { return Operand::text(iso_text(date_of(call.data.now))); }

constexpr Function table[] = {
    {"symbol.null", 0, 0, Work::constant, null},
    {"symbol.undefined", 0, 0, Work::constant, undefined},
    {"symbol.whitespace", 0, 0, Work::constant, whitespace},
    {"symbol.object", 0, 0, Work::constant, object},
    {"symbol.array", 0, 0, Work::constant, array},
    {"symbol.posInfinity", 0, 0, Work::constant, positive_infinity},
    {"symbol.negInfinity", 0, 0, Work::constant, negative_infinity},
    {"symbol.NaN", 0, 0, Work::constant, not_a_number},
    {"symbol.date", 0, 0, Work::constant, date},
};

}  // namespace

std::span<const Function> symbol_functions() { return table; }

}  // namespace pawl::mapping
