#pragma once
//! @file
//! From Chebyshev sums to quantiles: the estimator of the Chebyshev sketch ("Retable").
//!
//! Problem: real columns are rarely draws from a density. Most repeat values: labels, pixels,
//! counts, numbers of one decimal. A density cannot step, and the maximum-entropy dual of such data
//! has no minimum.
//!
//! Approach, each step exact where it applies:
//! 1. The masses at the minimum and at the maximum are known by count. They are subtracted from the
//!    moments; the next steps fit the rest.
//! 2. If the rest has at most 7 atoms (order 15), the Jacobi matrix finds them (jacobi.hpp);
//! moments
//!    of log x, if kept, must agree.
//! 3. If all values are multiples of a power of ten and at most 1024 of these lie in the range, the
//!    dual is solved over these lattice points instead of a quadrature rule: up to 17 points are
//!    determined exactly, more give the discrete distribution of maximum entropy.
//! 4. Otherwise the density of maximum entropy, in x or in log x (if its moments are kept),
//!    whichever has the smaller entropy of x: as the moments agree, this is the code length of the
//!    data under the model. Answers are rounded to multiples of the power of ten if there is one.
//! Each answer has a status, and a bound on its rank error that the moments prove
//! (rank_bounds.hpp).
//!
//! FitColumns solves the duals of many columns in one batch: a fit lists its duals, takes the
//! answers, and may then list another (if no distribution on the lattice has these moments).
//!
//! Deterministic. At most about 5 ms; 0.1 ms usually.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/estimators/jacobi.hpp"
#include "algorithms/quantiles/estimators/max_entropy/density.hpp"
#include "algorithms/quantiles/estimators/rank_bounds.hpp"
#include "algorithms/quantiles/lattice/decimal_digits.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"

namespace retable::quantiles {

//! How an answer was found.
struct FitStatus {
  int order = 0;          //!< moments used
  std::string basis;      //!< "constant", "atoms", "lattice", "identity" or "log"
  double residual = 0;    //!< largest error of a moment of the rest
  std::size_t atoms = 0;  //!< points of mass known exactly, the bounds included
};

//! What a fit needs of a sketch.
struct FitInput {
  ChebyshevSums sums;                     //!< Sums of x; not empty, bounds finite.
  std::optional<ChebyshevSums> log_sums;  //!< Sums of log x, if every x > 0.
  int order = kMaxOrder;
  int digits = kNoLattice;
  double noise = 1e-13;  //!< precision of the moments that the choice of a form assumes
  double error = 1e-11;  //!< largest error of a moment, for bounds
  double rounding = kRounding<float>;  //!< relative rounding of the values, for bounds
};

class ChebyshevFit {
 public:
  //! Fits at once, on this thread.
  explicit ChebyshevFit(const FitInput& input);

  //! Quantiles for ascending phis, in the data's units, within its bounds, ascending.
  std::vector<double> Quantiles(std::span<const double> phis) const;
  //! Bounds on the ranks of each x, min <= x <= max, that hold for every distribution with these
  //! moments, of x and of log x, and these ends. 10 to 100 us each. If the values are decimals, x
  //! is taken for the nearest one: its ranks are those of all values within their rounding of it.
  std::vector<RankBounds> Ranks(std::span<const double> xs) const;
  const FitStatus& status() const { return status_; }
  //! Density of the rest times its mass; 0 for atoms.
  double Density(double x) const;

 private:
  friend std::vector<ChebyshevFit> FitColumns(std::span<const FitInput> inputs,
                                              const DualSolver& solve);
  enum class Stage { kDone, kLattice, kDensity };
  struct Unsolved {};
  //! Does all that needs no dual; problems() lists the duals to solve.
  ChebyshevFit(const FitInput& input, Unsolved);
  //! The duals to solve now; none when the fit is done.
  const std::vector<DualProblem>& problems() const { return problems_; }
  //! Takes the answers of problems(), in their order.
  void Take(std::span<const DualAnswer> answers);

  RankBounder Bounder() const;
  RankBounder LogBounder() const;
  //! Moments of the values strictly between the bounds, on the map of `sums`.
  Moments RestMoments(const ChebyshevSums& sums) const;
  void FitAtoms();
  //! Whether the atoms have the moments of log x. On heavy tails the moments of x look like those
  //! of a few atoms: all mass is at the minimum, as far as 16 digits tell.
  bool MeetLogMoments(const Atoms& atoms) const;
  //! Whether atoms were found whose residual is no larger than this answer's; else discards them.
  bool AtomsFitBetterThan(const DualAnswer& answer);
  void AskForLattice(long long points);
  bool TakeLattice(const DualAnswer& answer);
  void AskForDensity();
  void TakeDensity(std::span<const DualAnswer> answers);
  double RoundToLattice(double x) const;

  ChebyshevSums sums_;
  std::optional<ChebyshevSums> log_sums_;
  int order_;
  int digits_;
  double error_;
  double rounding_;
  double low_mass_;
  double high_mass_;
  double rest_mass_;
  FitStatus status_;
  std::optional<JacobiMatrix> jacobi_;
  Stage stage_ = Stage::kDone;
  std::vector<DualProblem> problems_;
  //! One of the two: points in the data's units with cumulative masses, or a density.
  std::vector<double> point_;
  std::vector<double> cumulative_;
  std::optional<MaxEntropyDensity> density_;
  ChebyshevMap density_map_;
  bool log_ = false;
};

//! Fits many columns, with the duals of all in one batch (and duals that follow in another). Fits
//! are in the order of the inputs.
std::vector<ChebyshevFit> FitColumns(std::span<const FitInput> inputs, const DualSolver& solve);

}  // namespace retable::quantiles
