#pragma once
//! @file
//! From Chebyshev sums to quantiles: the estimator of the sketch "Retable".
//!
//! Problem: real columns are rarely draws from a density. Most repeat values: labels, pixels,
//! counts, numbers of one decimal. A density cannot step, and the maximum-entropy dual has no
//! minimum there.
//!
//! Approach, each step exact where it applies:
//! 1. The mass at the minimum and at the maximum is known by count. It is taken off the moments;
//! what
//!    follows is about the rest.
//! 2. If the rest sits on at most 7 points (order 15), the Jacobi matrix says so and gives them
//!    (jacobi.hpp); moments of log x, if kept, have to agree.
//! 3. If all values are multiples of a power of ten and the range holds at most 1024 of them, the
//!    dual is solved over these places instead of a quadrature rule: up to 17 places are determined
//!    exactly, and beyond it is the discrete distribution of maximum entropy.
//! 4. Otherwise the density of maximum entropy, in x or in log x (if its moments are kept),
//! whichever
//!    has the smaller entropy of x: that is the code length of the data under the model, as the
//!    moments agree. Answers are rounded to multiples of the power of ten if there is one.
//! Each answer comes with a status, and with a bound on its rank error that the moments prove.
//!
//! The duals may be solved elsewhere, those of many columns at once (FitColumns): a fit says which
//! it needs, takes the answers, and may then need another (a lattice that no distribution fits).
//!
//! Deterministic. At most about 5 ms; 0.1 ms usually.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/quantiles/estimators/jacobi.hpp"
#include "algorithms/quantiles/estimators/max_entropy/density.hpp"
#include "algorithms/quantiles/sums/chebyshev_accumulator.hpp"

namespace retable::quantiles {

//! How an answer came about.
struct FitStatus {
  int order = 0;          //!< moments used
  std::string basis;      //!< "constant", "atoms", "lattice", "identity" or "log"
  double residual = 0;    //!< largest misfit of a moment of the rest
  std::size_t atoms = 0;  //!< points of mass known exactly, the ends included
};

//! What a sketch knows.
struct FitInput {
  ChebyshevSums sums;                     //!< of x; not empty, bounds finite
  std::optional<ChebyshevSums> log_sums;  //!< of log x, where every x > 0
  int order = kMaxOrder;
  int digits = kNoLattice;
  double noise = 1e-13;  //!< precision of the moments
};

class ChebyshevFit {
 public:
  //! Fits at once, on this thread.
  explicit ChebyshevFit(const FitInput& input);

  //! Quantiles for ascending phis, in the data's units, within its bounds, ascending.
  std::vector<double> Quantiles(std::span<const double> phis) const;
  //! Bounds on the ranks of x, min <= x <= max, that hold for every distribution with these moments
  //! and ends.
  RankBounds Ranks(double x) const;
  const FitStatus& status() const { return status_; }
  //! Density of the rest times its mass, where it has one: 0 for atoms.
  double Density(double x) const;

 private:
  friend std::vector<ChebyshevFit> FitColumns(std::span<const FitInput> inputs,
                                            const DualSolver& solve);
  enum class Stage { kDone, kLattice, kDensity };
  struct Unsolved {};
  //! What needs no dual; problems() says what does.
  ChebyshevFit(const FitInput& input, Unsolved);
  //! The duals to be solved now; none when the fit is done.
  const std::vector<DualProblem>& problems() const { return problems_; }
  //! Takes their answers.
  void Take(std::span<const DualAnswer> answers);

  //! Moments of what lies strictly between the ends, on the sums' own map.
  Moments RestMoments(const ChebyshevSums& sums) const;
  void FitAtoms();
  //! Whether points of mass have the moments of log x that were kept. On heavy tails the moments of
  //! x look like a few atoms': all mass at the minimum, as far as 16 digits tell.
  bool MeetLogMoments(const Atoms& atoms) const;
  //! Whether atoms were found and meet the moments no worse than this answer; else forgets them.
  bool AtomsFitBetterThan(const DualAnswer& answer);
  void AskForLattice(long long places);
  bool TakeLattice(const DualAnswer& answer);
  void AskForDensity();
  void TakeDensity(std::span<const DualAnswer> answers);
  double RoundToLattice(double x) const;

  ChebyshevSums sums_;
  std::optional<ChebyshevSums> log_sums_;
  int order_;
  int digits_;
  double low_mass_;
  double high_mass_;
  double rest_mass_;
  FitStatus status_;
  std::optional<JacobiMatrix> jacobi_;
  Stage stage_ = Stage::kDone;
  std::vector<DualProblem> problems_;
  //! One of the two: places in the data's units with cumulative masses, or a density.
  std::vector<double> place_;
  std::vector<double> cumulative_;
  std::optional<MaxEntropyDensity> density_;
  ChebyshevMap density_map_;
  bool log_ = false;
};

//! Fits many columns with all of their duals in one batch (and those that follow in another). The
//! fits in the order of the inputs.
std::vector<ChebyshevFit> FitColumns(std::span<const FitInput> inputs, const DualSolver& solve);

}  // namespace retable::quantiles
