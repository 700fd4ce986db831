#pragma once
//! @file
//! The functions that samplers on the sphere need, by additions, products, divisions and square
//! roots alone, which every machine rounds alike: a CPU and a CUDA device get the same bits, which
//! their libraries' logarithms and cosines do not give.

#include <cmath>

#include "algorithms/shapley/lane_dot.hpp"

namespace retable::shapley {

//! c0 + c1 x + c2 x^2 + ..., by Horner's rule.
RETABLE_HD double Polynomial(double, double c0) {
  return c0;
}
template <class... More>
RETABLE_HD double Polynomial(double x, double c0, More... more) {
  return AddProduct(c0, Polynomial(x, more...), x);
}

//! The natural logarithm of a normal x > 0, within 1e-15 of it, relative: 2 atanh((m - 1) / (m +
//! 1)) by its series, for the mantissa m in [sqrt(1/2), sqrt(2)).
RETABLE_HD double LogOf(double x) {
  constexpr double kLogOfTwo = 0.69314718055994530942;
  int exponent = 0;
  double m = frexp(x, &exponent);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double series = Polynomial(s * s, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11,
                                   1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23);
  return AddProduct(2 * s * series, exponent, kLogOfTwo);
}

struct Direction {
  double cosine, sine;
};

//! The cosine and sine of `turn` full turns, 0 <= turn < 1 and a multiple of 2^-53, within 1e-15:
//! Taylor's series on the nearest quarter.
RETABLE_HD Direction DirectionOf(double turn) {
  constexpr double kTwoPi = 6.28318530717958647693;
  const int quarter = static_cast<int>(AddProduct(0.5, 4, turn));
  const double angle = kTwoPi * (turn - 0.25 * quarter), z = angle * angle;
  const double sine =
      angle * Polynomial(z, 1.0, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                         1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000);
  const double cosine =
      Polynomial(z, 1.0, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000);
  switch (quarter % 4) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

//! The standard normal distribution's quantile, 2^-36 < u < 1 - 2^-36, within 1e-15 of it,
//! relative. Wichura 1988, algorithm AS 241, PPND16.
RETABLE_HD double NormalQuantile(double u) {
  const double q = u - 0.5;
  if (fabs(q) <= 0.425) {
    const double r = AddProduct(0.180625, -q, q);
    return q *
           Polynomial(r, 3.3871328727963666080e0, 1.3314166789178437745e+2,
                      1.9715909503065514427e+3, 1.3731693765509461125e+4, 4.5921953931549871457e+4,
                      6.7265770927008700853e+4, 3.3430575583588128105e+4,
                      2.5090809287301226727e+3) /
           Polynomial(r, 1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
                      5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                      2.8729085735721942674e+4, 5.2264952788528545610e+3);
  }
  const double r = sqrt(-LogOf(q < 0 ? u : 1 - u)) - 1.6;
  const double far =
      Polynomial(r, 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                 3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                 2.27238449892691845833e-2, 7.74545014278341407640e-4) /
      Polynomial(r, 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                 6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                 5.47593808499534494600e-4, 1.05075007164441684324e-9);
  return q < 0 ? -far : far;
}

}  // namespace retable::shapley
