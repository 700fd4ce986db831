// The functions that a CPU and a CUDA device share, against the library's.

#include "algorithms/shapley/samplers/elementary.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <random>

#include "algorithms/shapley/samplers/reflections.hpp"
#include "base/seed_testing.hpp"

namespace retable::shapley {
namespace {

class Elementary : public testing::Test {
 protected:
  std::mt19937_64 random_{FreshSeed()};
};

TEST_F(Elementary, LogarithmsAreTheLibrarys) {
  for (int trial = 0; trial < 200000; ++trial) {
    // All magnitudes, and numbers next to 1, where the logarithm is small.
    const double u = UniformDoubleOpenBelow(random_());
    const double x =
        trial % 2 == 0 ? std::ldexp(u, -(trial % 60)) : 1 - std::ldexp(u, -(trial % 50));
    if (x <= 0) continue;
    ASSERT_NEAR(LogOf(x), std::log(x), 1e-15 * std::abs(std::log(x))) << x;
  }
  EXPECT_EQ(LogOf(1), 0);
}

TEST_F(Elementary, DirectionsAreTheLibrarys) {
  for (int trial = 0; trial < 200000; ++trial) {
    const double turn = trial < 64 ? trial / 64.0 : UniformDouble(random_());
    const Direction got = DirectionOf(turn);
    ASSERT_NEAR(got.cosine, std::cos(2 * std::numbers::pi * turn), 1e-15) << turn;
    ASSERT_NEAR(got.sine, std::sin(2 * std::numbers::pi * turn), 1e-15) << turn;
  }
}

TEST_F(Elementary, QuantilesAreBoosts) {
  for (int trial = 0; trial < 200000; ++trial) {
    const double small = std::ldexp(0.5 + UniformDouble(random_()) / 2, -(trial % 33));
    const double u = trial % 2 == 0 ? std::max(small, 0x1p-33) : 1 - std::max(small, 0x1p-33);
    if (u <= 0 || u >= 1) continue;
    const double want = -std::numbers::sqrt2 * boost::math::erfc_inv(2 * u);
    ASSERT_NEAR(NormalQuantile(u), want, 2e-15 * (std::abs(want) + 1e-3)) << u;
  }
}

// Q of the matrix of normal variables, R's diagonal positive: Eigen's, whatever columns are taken.
TEST_F(Elementary, BasesAreEigens) {
  for (const std::size_t side : {1u, 2u, 9u, 31u, 32u, 33u, 70u}) {
    const auto rows = static_cast<Eigen::Index>(side);
    const std::uint64_t seed = random_();
    Eigen::MatrixXd x(rows, rows);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const NormalPair pair = NormalsOf(seed, 5, static_cast<std::uint64_t>(i) / 2);
      x.data()[i] = i % 2 == 0 ? pair.first : pair.second;
    }
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(x);
    Eigen::MatrixXd q = qr.householderQ();
    RandomBasis basis(side), part(side);
    basis.Draw(seed, 5, side);
    const std::size_t few = (side + 1) / 2;
    part.Draw(seed, 5, few);
    double orthogonality = 0, difference = 0;
    for (std::size_t j = 0; j < side; ++j) {
      const auto column = basis.column(j);
      const double sign =
          qr.matrixQR()(static_cast<Eigen::Index>(j), static_cast<Eigen::Index>(j)) < 0 ? -1 : 1;
      for (std::size_t i = 0; i < side; ++i) {
        difference =
            std::max(difference, std::abs(column[i] - sign * q(static_cast<Eigen::Index>(i),
                                                               static_cast<Eigen::Index>(j))));
        if (j < few) {
          EXPECT_EQ(column[i], part.column(j)[i]);
        }
      }
      for (std::size_t k = 0; k <= j; ++k) {
        double dot = j == k ? -1 : 0;
        for (std::size_t i = 0; i < side; ++i) dot += column[i] * basis.column(k)[i];
        orthogonality = std::max(orthogonality, std::abs(dot));
      }
    }
    EXPECT_LT(orthogonality, 1e-13) << side;
    EXPECT_LT(difference, 1e-9) << side;  // times the matrix's condition
  }
}

}  // namespace
}  // namespace retable::shapley
