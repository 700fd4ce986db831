#include "harness/report/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

#include "base/glob.hpp"
#include "base/text/suggest.hpp"
#include "harness/report/csv.hpp"

namespace retable::harness {
namespace {

struct Missing {};
using Any = std::variant<Missing, bool, double, std::string>;

bool IsMissing(const Any& value) {
  return std::holds_alternative<Missing>(value);
}

// The types are as the text tells (config/claim_syntax.hpp).
double Number(const Any& value) {
  return std::get<double>(value);
}

bool Truth(const Any& value) {
  return std::get<bool>(value);
}

// A row's or column's name; numbers are named as they are written.
std::string Text(const Any& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return FormatNumber(Number(value));
}

template <typename T>
bool Ordered(const std::string& op, const T& a, const T& b) {
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  return a != b;
}

Any CompareValues(const std::string& op, const Any& a, const Any& b) {
  if (IsMissing(a) || IsMissing(b)) return Missing{};
  if (const double* x = std::get_if<double>(&a)) return Ordered(op, *x, Number(b));
  if (const bool* x = std::get_if<bool>(&a)) return Ordered(op, *x, Truth(b));
  return Ordered(op, std::get<std::string>(a), std::get<std::string>(b));
}

// Kleene's conjunction: false decides, missing taints, else true.
Any And(const Any& a, const Any& b) {
  if (!IsMissing(a) && !Truth(a)) return false;
  if (!IsMissing(b) && !Truth(b)) return false;
  if (IsMissing(a) || IsMissing(b)) return Missing{};
  return true;
}

Any Not(const Any& a) {
  if (IsMissing(a)) return Missing{};
  return !Truth(a);
}

Any Or(const Any& a, const Any& b) {
  return Not(And(Not(a), Not(b)));
}

class Evaluator {
 public:
  explicit Evaluator(const TableView& table) : table_(table) {}
  // With one figure of the table `factor` times as large.
  Evaluator(const TableView& table, const Figure& scaled, double factor)
      : table_(table), scaled_(&scaled), factor_(factor) {}

  Any Value(const Tree& tree) {
    switch (tree.op) {
      case Op::kNumber:
        return tree.number;
      case Op::kString:
        return tree.text;
      case Op::kTrue:
        return true;
      case Op::kFalse:
        return false;
      case Op::kName:
        return bound_.at(tree.text).back();
      case Op::kNot:
        return Not(Child(tree, 0));
      case Op::kNegate:
        return Negate(tree);
      case Op::kCompare:
        return Chain(tree);
      case Op::kCall:
        return Call(tree);
      case Op::kQuantify:
        return Quantify(tree);
      default:
        break;
    }
    const Any left = Child(tree, 0), right = Child(tree, 1);
    if (tree.op == Op::kAnd) return And(left, right);
    if (tree.op == Op::kOr) return Or(left, right);
    return Arithmetic(tree, left, right);
  }

  std::vector<Figure> figures;
  std::vector<std::string> counterexamples;  // elements at which an `all` was false
  std::string unmatched;                     // why a set had no element

 private:
  Any Child(const Tree& tree, std::size_t i) { return Value(*tree.children[i]); }

  Any Negate(const Tree& tree) {
    const Any value = Child(tree, 0);
    if (IsMissing(value)) return Missing{};
    return -Number(value);
  }

  Any Chain(const Tree& tree) {
    Any result = true;
    Any left = Child(tree, 0);
    for (std::size_t i = 1; i < tree.children.size(); ++i) {
      Any right = Child(tree, i);
      result = And(result, CompareValues(tree.operators[i - 1], left, right));
      left = std::move(right);
    }
    return result;
  }

  Any Arithmetic(const Tree& tree, const Any& left, const Any& right) {
    if (IsMissing(left) || IsMissing(right)) return Missing{};
    const bool text =
        std::holds_alternative<std::string>(left) || std::holds_alternative<std::string>(right);
    if (tree.op == Op::kAdd && text) return Text(left) + Text(right);
    const double a = Number(left), b = Number(right);
    switch (tree.op) {
      case Op::kAdd:
        return a + b;
      case Op::kSubtract:
        return a - b;
      case Op::kMultiply:
        return a * b;
      case Op::kDivide:
        if (b == 0) return Missing{};  // as a column of ratios has no value there
        return a / b;
      default:
        return std::pow(a, b);
    }
  }

  Any Call(const Tree& tree) {
    if (tree.text == "known") return Known(*tree.children[0]);
    std::vector<Any> values;
    for (const auto& child : tree.children) values.push_back(Value(*child));
    for (const Any& value : values) {
      if (IsMissing(value)) return Missing{};
    }
    if (tree.text == "cell" || tree.text == "paper" || tree.text == "low" || tree.text == "high") {
      return LookUp(tree.text, Text(values[0]), Text(values[1]));
    }
    std::vector<double> x;
    for (const Any& value : values) x.push_back(Number(value));
    return Numeric(tree.text, x);
  }

  // A method that failed or answered wrongly is not left out as what was not measured is: whether
  // it is known is missing.
  Any Known(const Tree& tree) {
    const int broken_before = broken_;
    if (!IsMissing(Value(tree))) return true;
    if (broken_ > broken_before) return Missing{};
    return false;
  }

  static Any Numeric(const std::string& name, const std::vector<double>& x) {
    if (name == "failed") return std::isnan(x[0]);
    if (name == "near") return std::abs(x[0] - x[1]) <= x[2] * std::abs(x[1]);
    if (name == "abs") return std::abs(x[0]);
    if (name == "exp") return std::exp(x[0]);
    if (name == "floor") return std::floor(x[0]);
    if (name == "log") return std::log(x[0]);
    if (name == "log2") return std::log2(x[0]);
    if (name == "log10") return std::log10(x[0]);
    if (name == "sqrt") return std::sqrt(x[0]);
    return Extreme(x, name == "min");
  }

  // NaN if any is, unlike std::min: a failed sample must not vanish in an extreme.
  static double Extreme(const std::vector<double>& x, bool least) {
    double best = x[0];
    for (const double value : x) {
      if (std::isnan(value)) return value;
      best = least ? std::min(best, value) : std::max(best, value);
    }
    return best;
  }

  Any LookUp(const std::string& source, const std::string& row, const std::string& column) {
    if (source != "paper" && table_.broken(row, column)) ++broken_;
    for (const Figure& known : figures) {
      if (known.source == source && known.row == row && known.column == column) {
        return FromOptional(known.value);
      }
    }
    std::optional<double> value = table_.figure(source, row, column);
    const bool scaled = scaled_ != nullptr && row == scaled_->row && column == scaled_->column;
    if (value && scaled && source != "paper") *value *= factor_;
    figures.push_back({source, row, column, value});
    return FromOptional(value);
  }

  static Any FromOptional(const std::optional<double>& value) {
    if (!value) return Missing{};
    return *value;
  }

  std::vector<Any> Elements(const SetSyntax& set) {
    std::vector<Any> elements;
    if (set.kind == SetSyntax::Kind::kList) {
      for (const auto& item : set.items) elements.push_back(Value(*item));
      return elements;
    }
    const bool rows = set.kind == SetSyntax::Kind::kRows;
    for (const std::string& name : rows ? table_.rows() : table_.columns()) {
      const bool taken =
          set.patterns.empty() || std::ranges::any_of(set.patterns, [&](const std::string& p) {
            return GlobMatches(p, name);
          });
      if (taken) elements.emplace_back(name);
    }
    if (elements.empty()) unmatched = table_.why_no_match(set.patterns, rows);
    return elements;
  }

  // The body's values at the elements that pass the filter; missing where the filter is unknown.
  std::vector<Any> Bodies(const Tree& tree) {
    std::vector<Any> bodies;
    const bool filtered = tree.children.size() > 1;
    auto& stack = bound_[tree.variable];
    for (const Any& element : Elements(tree.set)) {
      stack.push_back(element);
      const Any pass = filtered ? Child(tree, 1) : Any(true);
      if (IsMissing(pass)) {
        bodies.emplace_back(Missing{});
      } else if (Truth(pass)) {
        bodies.push_back(Child(tree, 0));
        NoteCounterexample(tree, element, bodies.back());
      }
      stack.pop_back();
    }
    return bodies;
  }

  void NoteCounterexample(const Tree& tree, const Any& element, const Any& body) {
    const bool* truth = std::get_if<bool>(&body);
    if (tree.text == "all" && truth != nullptr && !*truth && !IsMissing(element)) {
      counterexamples.push_back(Text(element));
    }
  }

  Any Quantify(const Tree& tree) {
    const std::vector<Any> bodies = Bodies(tree);
    if (bodies.empty()) return Missing{};
    if (tree.text == "all" || tree.text == "any") return AllOrAny(tree, bodies);
    double sum = 0;
    std::vector<double> numbers;
    for (const Any& body : bodies) {
      if (IsMissing(body)) return Missing{};
      const bool truths = tree.text == "count" || tree.text == "share";
      numbers.push_back(truths ? (Truth(body) ? 1.0 : 0.0) : Number(body));
      sum += numbers.back();
    }
    if (tree.text == "count" || tree.text == "sum") return sum;
    if (tree.text == "share" || tree.text == "mean") {
      return sum / static_cast<double>(numbers.size());
    }
    return Extreme(numbers, tree.text == "min");
  }

  Any AllOrAny(const Tree& tree, const std::vector<Any>& bodies) {
    const bool all = tree.text == "all";
    Any result = all;
    for (const Any& body : bodies) {
      result = all ? And(result, body) : Or(result, body);
    }
    return result;
  }

  const TableView& table_;
  const Figure* scaled_ = nullptr;
  double factor_ = 1;
  int broken_ = 0;                                 // look-ups of failed or wrong cells
  std::map<std::string, std::vector<Any>> bound_;  // innermost last
};

std::string Join(const std::vector<std::string>& parts, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), most); ++i) {
    text += (i == 0 ? "" : "; ") + parts[i];
  }
  if (parts.size() > most) text += " and " + std::to_string(parts.size() - most) + " more";
  return text;
}

// Which figures are missing and why, each reason once with the first of its figures.
std::string MissingText(const std::vector<Figure>& figures, const TableView& table) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Figure& f : figures) {
    if (f.value) continue;
    const std::string why =
        f.source == "paper" ? "the work prints no value" : table.why_missing(f.row, f.column);
    auto known =
        std::ranges::find_if(reasons, [&](const auto& reason) { return reason.first == why; });
    if (known == reasons.end()) known = reasons.insert(known, {why, {}});
    known->second.push_back(f.row + ", " + f.column);
  }
  std::vector<std::string> said;
  for (const auto& [why, names] : reasons) said.push_back(why + " [" + Join(names, 2) + "]");
  return Join(said, 3);
}

// Whether the check says something else with one of the unsteady figures so much larger or smaller.
bool HangsOnUnsteady(const Tree& check, const std::vector<Figure>& figures, const TableView& table,
                     bool holds) {
  for (const Figure& f : figures) {
    if (f.source == "paper" || table.why_unsteady(f.row, f.column).empty()) continue;
    for (const double factor : {kUnsteadyFactor, 1 / kUnsteadyFactor}) {
      Evaluator evaluator(table, f, factor);
      const Any now = evaluator.Value(check);  // missing where no row passes a filter any more
      if (IsMissing(now) || Truth(now) != holds) return true;
    }
  }
  return false;
}

// The first figure whose time is not steady, and why.
std::string UnsteadyText(const std::vector<Figure>& figures, const TableView& table) {
  for (const Figure& f : figures) {
    const std::string why = f.source == "paper" ? "" : table.why_unsteady(f.row, f.column);
    if (!why.empty()) return "not steady: " + f.row + ", " + f.column + ": " + why;
  }
  return "";
}

}  // namespace

std::string TableView::why_missing(const std::string& row, const std::string& column) const {
  const auto known_rows = rows(), known_columns = columns();
  const auto unknown = [](const char* what, const std::string& name,
                          const std::vector<std::string>& known) -> std::string {
    if (std::ranges::count(known, name) > 0) return "";
    return std::string("no ") + what + " \"" + name + "\"" + NearestName(name, known);
  };
  std::string why = unknown("row", row, known_rows);
  if (why.empty()) why = unknown("column", column, known_columns);
  return why.empty() ? "no value" : why;
}

std::string TableView::why_no_match(const std::vector<std::string>& /*patterns*/, bool rows) const {
  return rows ? "no row matches" : "no column matches";
}

std::string_view Name(ClaimVerdict verdict) {
  constexpr std::string_view kNames[] = {"HOLDS", "FAILS", "NO-DATA", "UNSTEADY", "NOT-JUDGED"};
  return kNames[static_cast<std::size_t>(verdict)];
}

ClaimResult Evaluate(std::string_view check, const TableView& table) {
  const auto tree = ParseCheck(check);
  Evaluator evaluator(table);
  const Any value = evaluator.Value(*tree);
  ClaimResult result;
  result.figures = std::move(evaluator.figures);
  if (IsMissing(value)) {
    result.reason = MissingText(result.figures, table);
    if (result.reason.empty()) result.reason = evaluator.unmatched;
    if (result.reason.empty()) result.reason = "no row or column matches";
    return result;
  }
  const bool holds = Truth(value);
  if (HangsOnUnsteady(*tree, result.figures, table, holds)) {
    result.reason = UnsteadyText(result.figures, table);
    result.verdict = ClaimVerdict::kUnsteady;
    return result;
  }
  result.verdict = holds ? ClaimVerdict::kHolds : ClaimVerdict::kFails;
  if (!holds && !evaluator.counterexamples.empty()) {
    result.reason = "not for " + Join(evaluator.counterexamples, 5);
  }
  return result;
}

std::string FiguresText(const std::vector<Figure>& figures, std::size_t most, int digits) {
  std::vector<std::string> parts;
  for (const Figure& f : figures) {
    const std::string value = !f.value               ? "missing"
                              : std::isnan(*f.value) ? "failed"
                              : digits > 0           ? fmt::format("{:.{}g}", *f.value, digits)
                                                     : FormatNumber(*f.value);
    parts.push_back(f.source + "(" + f.row + ", " + f.column + ") = " + value);
  }
  return Join(parts, most);
}

}  // namespace retable::harness
