#pragma once
//! @file
//! The language of claims: a sentence of a paper as a check over a table's cells.
//!
//!     cell("KLL (m=10)", "NIAE") > cell("KLL (m=50)", "NIAE") > cell("KLL (m=500)", "NIAE")
//!     all(row in "ME-central*": cell(row, "failures") == 0)
//!     all(d in columns: cell("orthogonal", d) < cell("MC-antithetic", d))
//!     near(cell("a", "ratio"), paper("a", "ratio"), 0.2) or not known(cell("a", "ratio"))
//!
//! Values: numbers, strings ("..." or '...', with \" \' \\), true, false. From loosest to tightest:
//!
//!     or   and   not   < <= > >= == !=  (chains: a < b < c)   + -   * /   unary -   ^ (to the
//!     right)
//!
//! `+` also joins strings, and a string with a number. Functions:
//!
//!     cell(row, column)   the measured value       low, high(row, column)  its 95 % interval
//!     paper(row, column)  the published value      known(x)   whether there is data for x
//!     abs exp floor log log2 log10 sqrt (x)        failed(x)  whether x is NaN (every sample
//!     failed) min, max(x, y, ...)                          near(x, y, r)  |x - y| <= r |y|
//!
//! Quantifiers run a name over a set, with an optional filter:
//!
//!     all, any, count, share, min, max, sum, mean(NAME in SET [if CONDITION]: EXPRESSION)
//!
//!     SET: "glob"         rows that match (* and ?)      rows, rows("glob", ...)
//!          ["a", 2, ...]  these                          columns, columns("glob", ...)
//!
//! Rows and columns may be given as numbers (cell("KLL", 1000) means the column "1000").
//!
//! Missing data is neither true nor false (Kleene's three-valued logic): a comparison or sum with
//! it is NO-DATA, and so is a division by 0; `false and NO-DATA` is false, `true or NO-DATA` is
//! true; `all` is false as soon as one element is; a quantifier over nothing is NO-DATA, so that a
//! misspelt pattern never holds by default. Whether a wrong answer is known is missing data too, so
//! that a filter by known() does not leave it out. A NaN is data: every comparison with it is false
//! (`!=` true), as in IEEE 754. Nothing is skipped once decided, so that the figures always list
//! every cell that a check names.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/claim_syntax.hpp"

namespace retable::harness {

//! The table that a check reads.
class TableView {
 public:
  virtual ~TableView() = default;
  virtual std::vector<std::string> rows() const = 0;
  virtual std::vector<std::string> columns() const = 0;
  //! Of "cell" (measured; nothing when it was not; NaN when every sample failed), "low" and "high"
  //! (the ends of its 95 % interval) or "paper" (published; nothing when it is not).
  virtual std::optional<double> figure(std::string_view source, const std::string& row,
                                       const std::string& column) const = 0;
  //! Why there is no value, in a few words; by default whether the name is unknown, and the
  //! nearest.
  virtual std::string why_missing(const std::string& row, const std::string& column) const;
  //! Whether the method behind the value failed or answered wrongly; there is no value then.
  virtual bool broken(const std::string& /*row*/, const std::string& /*column*/) const {
    return false;
  }
  //! Why the value is a time that is not steady (harness/run/steadiness.hpp); else empty.
  virtual std::string why_unsteady(const std::string& /*row*/,
                                   const std::string& /*column*/) const {
    return "";
  }
  //! Why no row (or column) matches any of these.
  virtual std::string why_no_match(const std::vector<std::string>& patterns, bool rows) const;
};

enum class ClaimVerdict { kHolds, kFails, kNoData, kUnsteady, kNotJudged };
//! "HOLDS", "FAILS", "NO-DATA", "UNSTEADY" (it hangs on a time that is not steady), "NOT-JUDGED"
//! (the caller's: at these sizes nothing is judged).
std::string_view Name(ClaimVerdict verdict);

//! A cell that the check read.
struct Figure {
  std::string source;  //!< "cell", "paper", "low", "high"
  std::string row, column;
  std::optional<double> value;
};

struct ClaimResult {
  ClaimVerdict verdict = ClaimVerdict::kNoData;
  std::string reason;           //!< failing cell of an `all`, or what is missing; may be empty
  std::vector<Figure> figures;  //!< each cell once, in the order of reading
};

//! An unsteady time may be so many times too large or too small. Drifts above a fifth were not
//! seen; a ratio of two such times is within this.
inline constexpr double kUnsteadyFactor = 1.5;

//! Evaluates a check. One that says something else with an unsteady time kUnsteadyFactor times as
//! large, or as small, neither holds nor fails. Cost: the number of elements the quantifiers visit,
//! times a look-up; as much again twice for each unsteady time.
//! @throws ExpressionError (ParseCheck)
ClaimResult Evaluate(std::string_view check, const TableView& table);

//! The figures on one line: `cell(KLL, NIAE) = 0.02; ...`, at most `most` of them.
//! @param digits of each; 0: as many as it has
std::string FiguresText(const std::vector<Figure>& figures, std::size_t most = 12, int digits = 0);

}  // namespace retable::harness
