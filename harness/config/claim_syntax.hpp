#pragma once
//! @file
//! From the text of a check to its tree, by recursive descent. The grammar stands in
//! report/claim.hpp.

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace retable::harness {

//! What is wrong with a check; what() ends " at character N" (from 1).
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(const std::string& what, std::size_t position_in)
      : std::runtime_error(what + " at character " + std::to_string(position_in)),
        position(position_in) {}
  std::size_t position;
};

enum class Op {
  kNumber,  // number
  kString,  // text
  kTrue,
  kFalse,
  kName,     // text: a quantifier's variable
  kOr,       // 2 children
  kAnd,      // 2
  kNot,      // 1
  kCompare,  // operands; text holds the operators, in `operators`
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kPower,     // 2
  kNegate,    // 1
  kCall,      // text: function; children: arguments
  kQuantify,  // text: quantifier; variable; children: body, then the filter if there is one; set
};

//! What a quantifier runs over.
struct SetSyntax {
  enum class Kind { kRows, kColumns, kList } kind = Kind::kRows;
  std::vector<std::string> patterns;  // of rows or columns; none means all
  std::vector<std::unique_ptr<struct Tree>> items;
};

struct Tree {
  Op op = Op::kNumber;
  std::size_t position = 1;  // of the first character, from 1
  double number = 0;
  std::string text;
  std::string variable;
  std::vector<std::string> operators;
  std::vector<std::unique_ptr<Tree>> children;
  SetSyntax set;
};

//! Syntax and types, so that a wrong check is found before anything runs: what passes is true,
//! false or missing whatever the table holds. @throws ExpressionError
std::unique_ptr<Tree> ParseCheck(std::string_view text);

}  // namespace retable::harness
