// Compile-time values and how authors write them.
#include "Request.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace intent::frontend;

Constant Constant::ofInt(WideInt value) {
  Constant c;
  c.kind = Int;
  c.integer = value;
  return c;
}
Constant Constant::ofBool(bool value) {
  Constant c;
  c.kind = Bool;
  c.integer = value;
  return c;
}
Constant Constant::ofFloat(double value) {
  Constant c;
  c.kind = Float;
  c.real = value;
  return c;
}
Constant Constant::ofDtype(StringRef name) {
  Constant c;
  c.kind = Dtype;
  c.text = name.str();
  return c;
}

static std::string spellInt(WideInt value) {
  if (value == 0) return "0";
  bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    int digit = static_cast<int>(value % 10);
    digits.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string Constant::spell() const {
  switch (kind) {
  case None: return "None";
  case Ellipsis: return "...";
  case Bool: return integer ? "True" : "False";
  case Int: return spellInt(integer);
  case Float: {
    if (std::isnan(real)) return "nan";
    if (std::isinf(real)) return real > 0 ? "inf" : "-inf";
    for (int digits = 1; digits <= 17; ++digits) { // the shortest text that reads back
      char buffer[40];
      snprintf(buffer, sizeof buffer, "%.*g", digits, real);
      if (strtod(buffer, nullptr) == real) {
        std::string shortest = buffer;
        return shortest.find_first_of(".e") == std::string::npos ? shortest + ".0" : shortest;
      }
    }
    return "nan";
  }
  case Str: return "'" + text + "'";
  case Tuple: return "tuple of " + std::to_string(items.size());
  case Enum: return text + "." + member;
  case Dtype: return "I." + text;
  }
  return "?";
}
