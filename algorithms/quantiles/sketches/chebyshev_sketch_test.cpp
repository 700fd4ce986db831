#include "algorithms/quantiles/sketches/chebyshev_sketch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "algorithms/quantiles/niae.hpp"
#include "algorithms/quantiles/sketches/fuzz/fuzz_body.hpp"
#include "base/seed_testing.hpp"

namespace retable::quantiles {
namespace {

std::vector<double> Draw(std::size_t n, const std::function<double(std::mt19937_64&)>& one,
                         std::uint64_t seed = 1) {
  std::mt19937_64 engine(seed);
  std::vector<double> out(n);
  for (double& x : out) x = one(engine);
  return out;
}

//! Columns as real data have them.
std::map<std::string, std::vector<double>> Columns(std::size_t n) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto levels = [=](int count) {
    return [=](std::mt19937_64& e) mutable { return std::floor(count * uniform(e)); };
  };
  std::map<std::string, std::vector<double>> out{
      {"binary", Draw(n, levels(2))},
      {"3 levels", Draw(n, levels(3))},
      {"10 levels", Draw(n, levels(10))},
      {"17 levels", Draw(n, levels(17))},
      {"256 levels", Draw(n, levels(256))},
      {"4 odd values", Draw(n,
                            [=](auto& e) mutable {
                              const double values[] = {-3.7123456789, 0.1234567891, 2.2, 88.123};
                              return values[static_cast<int>(4 * uniform(e))];
                            })},
      {"decimals", Draw(n, [=](auto& e) mutable { return std::round(58 + 8 * normal(e)) / 10; })},
      {"zero-inflated",
       Draw(n, [=](auto& e) mutable { return uniform(e) < 0.8 ? 0.0 : std::exp(normal(e)); })},
      {"normal", Draw(n, [=](auto& e) mutable { return normal(e); })},
      {"timestamps", Draw(n, [=](auto& e) mutable { return 1.6e9 + 1e5 * uniform(e); })},
      {"lognormal", Draw(n, [=](auto& e) mutable { return std::exp(normal(e)); })},
      {"Pareto", Draw(n, [=](auto& e) mutable { return 1 / (1 - uniform(e)); })},
      {"bimodal",
       Draw(n, [=](auto& e) mutable { return (uniform(e) < 0.3 ? -5.0 : 3.0) + normal(e); })},
  };
  out["pixel"] = Draw(n, [=](auto& e) mutable {
    return uniform(e) < 0.7 ? 0.0 : uniform(e) < 0.3 ? 255.0 : std::floor(256 * uniform(e));
  });
  return out;
}

double MeanRankError(std::vector<double> sorted, const ChebyshevSketch& sketch) {
  std::sort(sorted.begin(), sorted.end());
  const auto phis = NiaePhis(201);
  const auto values = sketch.Ask(phis).values;
  double mean = 0;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    mean += IntervalRankError(sorted, phis[i], values[i]) / 201;
  }
  return mean;
}

TEST(Retable, IsExactOnFewValues) {
  const auto columns = Columns(20000);
  for (const char* name : {"binary", "3 levels", "4 odd values"}) {
    auto sorted = columns.at(name);
    ChebyshevSketch sketch;
    sketch.update(std::span<const double>(sorted));
    std::sort(sorted.begin(), sorted.end());
    const SketchAnswer answer = sketch.Ask(NiaePhis());
    EXPECT_EQ(answer.status.basis, "atoms") << name;
    EXPECT_LT(Niae(sorted, answer.values), 1e-6) << name;
    if (std::string(name) == "4 odd values") continue;  // no lattice tells the atoms exactly
    for (const double bound : answer.rank_bound) EXPECT_LT(bound, 1e-6) << name;
  }
}

TEST(Retable, IsNearlyExactOnTheLatticesItCanDetermine) {
  const auto columns = Columns(20000);
  for (const char* name : {"10 levels", "17 levels"}) {
    ChebyshevSketch sketch;
    sketch.update(std::span<const double>(columns.at(name)));
    EXPECT_LT(MeanRankError(columns.at(name), sketch), 1e-3) << name;
  }
}

TEST(Retable, IsWithinOnePercentOfRankOnEveryColumn) {
  for (const auto& [name, values] : Columns(20000)) {
    if (name == "4 odd values") continue;  // right to 1e-8 in value, which is between two ranks
    ChebyshevSketch sketch(15, true);
    sketch.update(std::span<const double>(values));
    EXPECT_LT(MeanRankError(values, sketch), name == "zero-inflated" ? 0.02 : 0.01) << name;
  }
}

TEST(Retable, ChoosesTheLogOfHeavyTails) {
  const auto columns = Columns(20000);
  const auto basis = [&](const char* name) {
    ChebyshevSketch sketch(15, true);
    sketch.update(std::span<const double>(columns.at(name)));
    return sketch.Ask(std::vector<double>{0.5}).status.basis;
  };
  EXPECT_EQ(basis("lognormal"), "log");
  EXPECT_EQ(basis("Pareto"), "log");
  EXPECT_EQ(basis("normal"), "identity");
  EXPECT_EQ(basis("256 levels"), "lattice");
}

TEST(Retable, LogMomentsKeepHeavyTailsFromPassingForAtoms) {
  std::normal_distribution<double> normal;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto tail = Draw(
        3000, [=](auto& e) mutable { return std::exp(3 * normal(e)); }, seed);
    ChebyshevSketch sketch(15, true);
    sketch.update(std::span(tail));
    const auto answer = sketch.Ask(NiaePhis(101));
    EXPECT_EQ(answer.status.basis, "log") << seed;
    EXPECT_LT(MeanRankError(tail, sketch), 0.01) << seed;
  }
  // True atoms keep passing, next to zero too.
  const double values[] = {1e-5, 0.3, 0.5, 7, 40};
  const auto atoms = Draw(3000, [&](auto& e) { return values[e() % 5]; });
  ChebyshevSketch sketch(15, true);
  sketch.update(std::span(atoms));
  EXPECT_EQ(sketch.Ask(NiaePhis(101)).status.basis, "atoms");
}

TEST(Retable, MomentsOfFewDigitsDoNotMakeAtomsOfHeavyTails) {
  std::normal_distribution<double> normal;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto tail = Draw(
        20000, [=](auto& e) mutable { return std::exp(normal(e)); }, seed);
    ChebyshevSketch sketch;
    sketch.update(std::span(tail));
    for (const double noise : {1e-13, 1e-8, 1e-7}) {
      FitInput input = sketch.Input();
      input.noise = noise;
      EXPECT_EQ(ChebyshevFit(input).status().basis, "identity") << seed << " " << noise;
    }
  }
  const auto atoms = Draw(3000, [](auto& e) { return std::sqrt(static_cast<double>(e() % 7)); });
  ChebyshevSketch sketch;
  sketch.update(std::span(atoms));
  FitInput input = sketch.Input();
  input.noise = 1e-8;
  EXPECT_EQ(ChebyshevFit(input).status().basis, "atoms");
}

TEST(Retable, BoundsHoldOnEveryColumn) {
  for (const std::size_t n : {5u, 50u, 3000u}) {
    for (auto [name, sorted] : Columns(n)) {
      for (const int order : {1, 2, 5, 10, 15}) {
        ChebyshevSketch sketch(order);
        sketch.update(std::span<const double>(sorted));
        std::sort(sorted.begin(), sorted.end());
        const auto phis = NiaePhis(101);
        const SketchAnswer answer = sketch.Ask(phis);
        for (std::size_t i = 0; i < phis.size(); ++i) {
          ASSERT_LE(IntervalRankError(sorted, phis[i], answer.values[i]),
                    answer.rank_bound[i] + 1e-12)
              << name << " n " << n << " l " << order << " phi " << phis[i];
        }
      }
    }
  }
}

TEST(Retable, BoundsTightenWithTheOrder) {
  const auto values = Columns(5000).at("normal");
  double before = 2;
  for (const int order : {2, 6, 10, 14}) {
    ChebyshevSketch sketch(order);
    sketch.update(std::span<const double>(values));
    const double bound = sketch.Ask(std::vector<double>{0.5}).rank_bound[0];
    EXPECT_LT(bound, before);
    before = bound;
  }
  EXPECT_LT(before, 0.3);
}

TEST(Retable, SerialisesTo84BytesWithoutHarm) {
  for (const auto& [name, values] : Columns(10000)) {
    for (const bool log : {false, true}) {
      ChebyshevSketch sketch(15, log);
      sketch.update(std::span<const double>(values));
      const auto bytes = sketch.Serialize();
      EXPECT_EQ(bytes.size(), sketch.bytes());
      EXPECT_EQ(bytes.size(), log ? 133u : 84u);
      const auto back = ChebyshevSketch::Deserialize(bytes);
      EXPECT_EQ(back->count(), sketch.count());
      EXPECT_LT(MeanRankError(values, *back), MeanRankError(values, sketch) + 2e-3) << name << log;
      EXPECT_EQ(back->Serialize(), bytes) << name;
    }
  }
}

TEST(Retable, SerialisedFormIsFixed) {
  ChebyshevSketch sketch(2);
  sketch.update(std::span<const double>(std::vector<double>{0, 1, 1, 2}));
  const auto bytes = sketch.Serialize();
  const auto at = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  EXPECT_EQ(at(0), 0x03);   // version 3, no digits
  EXPECT_EQ(at(1), 4);      // count
  EXPECT_EQ(at(6), 0x20);   // order 2
  EXPECT_EQ(at(14), 0x00);  // 0.0
  EXPECT_EQ(at(22), 0x40);  // 2.0
  EXPECT_EQ(at(23), 1);     // at the minimum
  EXPECT_EQ(at(28), 1);     // at the maximum
  EXPECT_EQ(at(33), 0);     // E[t] = 0
}

TEST(Retable, RefusesWhatItDidNotWrite) {
  ChebyshevSketch sketch;
  sketch.update(std::span<const double>(Columns(1000).at("normal")));
  const auto good = sketch.Serialize();
  EXPECT_THROW(ChebyshevSketch::Deserialize({}), std::invalid_argument);
  for (std::size_t n : {1u, 83u, 85u, 132u}) {
    auto bytes = good;
    bytes.resize(n);
    EXPECT_THROW(ChebyshevSketch::Deserialize(bytes), std::invalid_argument) << n;
  }
  for (std::size_t i = 0; i < good.size() * 8; ++i) {
    auto bytes = good;
    bytes[i / 8] ^= std::byte{1} << (i % 8);
    EXPECT_THROW(ChebyshevSketch::Deserialize(bytes), std::invalid_argument) << i;
  }
}

// One of them in 256 has a right checksum with the zeros.
TEST(Retable, RefusesZerosBehindWhatItWrote) {
  for (int i = 0; i < 2000; ++i) {
    ChebyshevSketch sketch;
    sketch.update(std::vector<double>{1.0 + i, 2.5 + i, 3e6});
    auto bytes = sketch.Serialize();
    bytes.resize(bytes.size() + 14);
    EXPECT_THROW(ChebyshevSketch::Deserialize(bytes), std::invalid_argument) << i;
  }
}

TEST(Retable, SurvivesAnyBytesWithARightChecksum) {
  std::mt19937_64 engine(4);
  ChebyshevSketch sketch;
  sketch.update(std::span<const double>(Columns(1000).at("zero-inflated")));
  const auto good = sketch.Serialize();
  int accepted = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    auto bytes = good;
    const std::size_t changes = trial % 3 == 0 ? bytes.size() : 1 + engine() % 6;
    for (std::size_t i = 0; i < changes; ++i) bytes[engine() % 82] = std::byte(engine() % 256);
    bytes[0] = std::byte((engine() % 16) << 4 | (trial % 2 == 0 ? 1 : 3));
    Seal(bytes);
    try {
      ChebyshevSketch::Deserialize(bytes);
      ++accepted;
    } catch (const std::invalid_argument&) {
    }
    if (trial % 4 != 0) continue;  // a fit takes a while
    std::vector<std::uint8_t> raw;
    for (const std::byte b : bytes) raw.push_back(std::to_integer<std::uint8_t>(b));
    FuzzSketch(raw.data(), raw.size());
  }
  EXPECT_GT(accepted, 50);
}

//! The serialised form is the same bytes on every machine: these were written once, and stay.
TEST(Retable, TheFormOfVersionThreeStays) {
  ChebyshevSketch sketch(3);
  sketch.update(std::span<const double>(std::vector<double>{0.5, 0.5, 1.5, 2.5, 4.5}));
  const auto bytes = sketch.Serialize();
  ASSERT_EQ(bytes.size(), 84u);
  const auto at = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  EXPECT_EQ(at(0), 0x13);  // version 3, one digit
  EXPECT_EQ(at(1), 5);     // the count's least byte first
  EXPECT_EQ(at(6) >> 4, 3);
  const int half[] = {0, 0, 0, 0, 0, 0, 0xe0, 0x3f};  // 0.5, then 4.5
  const int high[] = {0, 0, 0, 0, 0, 0, 0x12, 0x40};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(at(7 + i), half[i]) << i;
    EXPECT_EQ(at(15 + i), high[i]) << i;
  }
  EXPECT_EQ(at(23), 2);  // two values on the minimum
  EXPECT_EQ(at(28), 1);
  // E[T_1] = -0.3, in units of 1 / (2^25 - 1): -10066329.3 is 0x3666667 in 26 bits.
  const int moment = at(33) | at(34) << 8 | at(35) << 16 | (at(36) & 3) << 24;
  EXPECT_EQ(moment, 0x3666667);
  auto later = bytes;
  later[0] = std::byte{0x15};  // a version to come
  Seal(later);
  try {
    ChebyshevSketch::Deserialize(later);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("version"), std::string::npos);
  }
}

TEST(Retable, EmptyAndInfiniteStreams) {
  ChebyshevSketch sketch;
  EXPECT_THROW(sketch.quantile(0.5), std::logic_error);
  const auto back = ChebyshevSketch::Deserialize(sketch.Serialize());
  EXPECT_EQ(back->count(), 0u);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  sketch.update(std::span<const double>(std::vector<double>{1, kInfinite}));
  EXPECT_EQ(sketch.quantile(0.25), 1);
  EXPECT_EQ(sketch.quantile(0.5), kInfinite);
  sketch.update(std::span<const double>(std::vector<double>{-kInfinite, -kInfinite, 3}));
  const auto bytes = sketch.Serialize();
  EXPECT_EQ(bytes.size(), 98u);
  EXPECT_EQ(sketch.bytes(), 98u);
  const auto again = ChebyshevSketch::Deserialize(bytes);
  EXPECT_EQ(again->Serialize(), bytes);
  again->merge(*again->empty_clone());
  EXPECT_EQ(again->count(), 5u);
  const std::vector<double> phis{0, 0.3, 0.5, 0.7, 1};
  EXPECT_EQ(again->quantiles(phis), (std::vector<double>{-kInfinite, -kInfinite, 1, 3, kInfinite}));
  EXPECT_EQ(again->rank_bounds(phis), std::vector<double>(5, 0.0));
}

//! Streams on which the moments of x leave the ranks open: answers were wrong by 0.45 to 0.94.
std::map<std::string, std::vector<double>> Undetermined(std::size_t n) {
  std::uniform_real_distribution<double> uniform;
  std::map<std::string, std::vector<double>> out{
      {"Pareto 0.5", Draw(n, [=](auto& e) mutable { return std::pow(1 - uniform(e), -2); })},
      {"Pareto 1.5", Draw(n, [=](auto& e) mutable { return std::pow(1 - uniform(e), -1 / 1.5); })},
      {"log-uniform", Draw(n, [=](auto& e) mutable { return std::exp(60 * uniform(e) - 30); })},
      {"Cauchy",
       Draw(n, [=](auto& e) mutable { return std::tan(3.14159265 * (uniform(e) - 0.5)); })},
      {"outlier", Draw(n, [=](auto& e) mutable { return 1 + uniform(e); })}};
  out["outlier"][n / 2] = 1e12;
  return out;
}

TEST(Retable, FailsWhereItsMomentsDoNotDetermineTheAnswer) {
  for (const auto& [name, values] : Undetermined(20000)) {
    ChebyshevSketch sketch;
    sketch.update(std::span<const double>(values));
    EXPECT_THROW(sketch.quantiles(NiaePhis(101)), SketchFailure) << name;
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    for (const double phi : NiaePhis(41)) {
      try {
        EXPECT_LE(IntervalRankError(sorted, phi, sketch.quantile(phi)), kUselessRankBound) << name;
      } catch (const SketchFailure& failure) {
        const std::string said = failure.what();
        EXPECT_NE(said.find("do not determine"), std::string::npos);
        EXPECT_EQ(said.find("log x") != std::string::npos, sorted[0] > 0) << name << " " << said;
      }
      const SketchAnswer answer = sketch.Ask(std::vector<double>{phi});
      EXPECT_LE(IntervalRankError(sorted, phi, answer.values[0]), answer.rank_bound[0] + 1e-12)
          << name << " " << phi;
    }
  }
  // Moments of log x determine most of them.
  for (const char* name : {"Pareto 0.5", "Pareto 1.5", "log-uniform"}) {
    const auto values = Undetermined(20000).at(name);
    ChebyshevSketch sketch(15, true);
    sketch.update(std::span<const double>(values));
    EXPECT_NO_THROW(sketch.quantiles(NiaePhis(101))) << name;
    EXPECT_LT(MeanRankError(values, sketch), 0.01) << name;
  }
}

//! Values beside the ends whose logarithm rounds to that of the end belong to the rest.
TEST(Retable, LogarithmsThatAreOneAtTheEndsKeepRanksWithinTheirBounds) {
  std::exponential_distribution<double> exponential(1 / 1.5);
  const auto tail = Draw(6000, [=](auto& e) mutable { return exponential(e); });
  const double below = std::nextafter(1000.0, 0.0), above = std::nextafter(1000.0, 2000.0);
  std::vector<double> up(4000, 1000.0), down(4000, 1000.0);
  for (const double x : tail) {
    up.push_back(1000 * std::exp(x));
    down.push_back(1000 * std::exp(-x));
  }
  up.push_back(below);
  down.push_back(above);
  std::vector<double> same(4000, 1000.0);  // but for one ulp
  same.insert(same.end(), {below, below, above});
  for (auto* values : {&up, &down, &same}) {
    ChebyshevSketch sketch(15, true);
    sketch.update(std::span<const double>(*values));
    std::sort(values->begin(), values->end());
    const std::vector<double> phis = {0.1, 0.2, 0.39, 0.5, 0.61, 0.8, 0.9};
    const SketchAnswer answer = sketch.Ask(phis);
    for (std::size_t i = 0; i < phis.size(); ++i) {
      const double error = IntervalRankError(*values, phis[i], answer.values[i]);
      EXPECT_LE(error, answer.rank_bound[i] + 1e-9) << phis[i] << " " << answer.values[i];
      const double exact = (*values)[static_cast<std::size_t>(phis[i] * values->size())];
      EXPECT_NEAR(std::log(answer.values[i] / exact), 0, 0.15) << phis[i];
    }
  }
}

//! Few values of a narrow range, whose logarithms differ by their rounding alone.
TEST(Retable, LogarithmsOfANarrowRangeKeepRanksWithinTheirBounds) {
  for (const double start : {1e-100, 1e3, 1e15, 1e100}) {
    for (const double step : {0x1p-50, 0x1p-40, 0x1p-30, 0x1p-20, 0x1p-10}) {
      for (int distinct = 3; distinct < 20; ++distinct) {
        std::vector<double> values;
        for (int i = 0; i < 1000; ++i) {
          values.push_back(start * (1 + step * (i * i % distinct + i % 3)));
        }
        ChebyshevSketch sketch(15, true);
        sketch.update(std::span<const double>(values));
        std::sort(values.begin(), values.end());
        const std::vector<double> phis = {0.1, 0.25, 0.5, 0.75, 0.9};
        const SketchAnswer answer = sketch.Ask(phis);
        for (std::size_t i = 0; i < phis.size(); ++i) {
          EXPECT_LE(IntervalRankError(values, phis[i], answer.values[i]),
                    answer.rank_bound[i] + 1e-9)
              << start << " " << step << " " << distinct << " " << phis[i];
        }
      }
    }
  }
}

//! 3 * 0.1 beside 0.3 at an end: one decimal, two numbers.
TEST(Retable, DecimalsThatEqualAnEndButForRoundingKeepRanksWithinTheirBounds) {
  std::mt19937_64 random(FreshSeed());
  for (int trial = 0; trial < 300; ++trial) {
    const int most = 4 + static_cast<int>(random() % 60),
              copies = 1 + static_cast<int>(random() % 100);
    std::vector<double> values = {0.3}, exact;
    for (int i = 0; i < copies; ++i) values.push_back(3 * 0.1);
    for (int i = 0; i < 60; ++i) values.push_back(static_cast<double>(3 + random() % most) / 10);
    for (const double x : values) exact.push_back(std::round(x * 10) / 10);
    std::sort(exact.begin(), exact.end());
    ChebyshevSketch sketch;
    sketch.update(std::span<const double>(values));
    const std::vector<double> phis = NiaePhis(41);
    const SketchAnswer answer = sketch.Ask(phis);
    for (std::size_t i = 0; i < phis.size(); ++i) {
      const double near = std::round(answer.values[i] * 10) / 10;
      const double at = std::abs(near - answer.values[i]) < 1e-12 ? near : answer.values[i];
      EXPECT_LE(IntervalRankError(exact, phis[i], at), answer.rank_bound[i] + 1e-9)
          << trial << " " << phis[i] << " " << answer.values[i];
    }
  }
}

//! Two trees of merges fail alike, or give answers whose ranks differ by no more than their bounds.
TEST(Retable, OrderOfMergesDoesNotMatter) {
  auto columns = Columns(20000);
  columns.merge(Undetermined(20000));
  const auto phis = NiaePhis(101);
  for (const auto& [name, values] : columns) {
    ChebyshevSketch whole;
    whole.update(std::span<const double>(values));
    for (const std::size_t parts : {2u, 7u, 40u}) {
      std::vector<ChebyshevSketch> pieces;
      for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t from = values.size() * i / parts;
        const std::size_t to = values.size() * (i + 1) / parts;
        pieces.emplace_back();
        pieces.back().update(std::span<const double>(values).subspan(from, to - from));
      }
      ChebyshevSketch forward;
      ChebyshevSketch backward;
      for (std::size_t i = 0; i < parts; ++i) {
        forward.merge(pieces[i]);
        backward.merge(pieces[parts - 1 - i]);
      }
      const FitInput a = forward.Input();
      const FitInput b = backward.Input();
      for (int k = 0; k <= kMaxOrder; ++k) {
        ASSERT_NEAR(a.sums.sum[k] / a.sums.sum[0], b.sums.sum[k] / b.sums.sum[0], 1e-12) << name;
      }
      auto sorted = values;
      std::sort(sorted.begin(), sorted.end());
      for (const ChebyshevSketch* sketch : {&forward, &backward}) {
        const SketchAnswer answer = sketch->Ask(phis);
        for (std::size_t i = 0; i < phis.size(); ++i) {
          ASSERT_LE(IntervalRankError(sorted, phis[i], answer.values[i]),
                    answer.rank_bound[i] + 1e-12)
              << name << " " << phis[i];
        }
        const auto fails = [&](const ChebyshevSketch& s) {
          try {
            s.quantiles(phis);
            return false;
          } catch (const SketchFailure&) {
            return true;
          }
        };
        EXPECT_EQ(fails(*sketch), fails(whole)) << name << " in " << parts;
      }
    }
  }
}

TEST(Retable, ReadsTheFormsOfVersionsOneAndTwo) {
  for (const bool log : {false, true}) {
    const auto values = Columns(3000).at("lognormal");
    ChebyshevSketch sketch(15, log);
    sketch.update(std::span<const double>(values));
    auto bytes = sketch.Serialize();
    ASSERT_EQ(bytes.size(), log ? 133u : 84u);
    bytes[0] = (bytes[0] & std::byte{0xf0}) | (log ? std::byte{2} : std::byte{1});
    bytes[81] &= std::byte{0x3f};
    Seal(bytes);
    const auto old = ChebyshevSketch::Deserialize(bytes);
    EXPECT_EQ(old->count(), values.size());
    const auto phis = NiaePhis(101);
    EXPECT_EQ(old->quantiles(phis),
              ChebyshevSketch::Deserialize(sketch.Serialize())->quantiles(phis));
    EXPECT_GE(old->rank_bounds(phis)[50], sketch.rank_bounds(phis)[50]);
  }
}

TEST(Retable, BoundsSurviveManyTransports) {
  const auto columns = Columns(2000);
  for (const char* name : {"normal", "10 levels", "zero-inflated", "decimals"}) {
    std::vector<double> all;
    auto total = std::make_unique<ChebyshevSketch>();
    for (int round = 0; round < 30; ++round) {
      ChebyshevSketch part;
      part.update(std::span<const double>(columns.at(name))
                      .subspan(60 * static_cast<std::size_t>(round), 60));
      all.insert(all.end(), columns.at(name).begin() + 60 * round,
                 columns.at(name).begin() + 60 * round + 60);
      total->merge(*ChebyshevSketch::Deserialize(part.Serialize()));
      total = ChebyshevSketch::Deserialize(total->Serialize());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(total->Serialize().size(), 98u);  // with the error of 31 roundings
    const auto phis = NiaePhis(101);
    const SketchAnswer answer = total->Ask(phis);
    for (std::size_t i = 0; i < phis.size(); ++i) {
      EXPECT_LE(IntervalRankError(all, phis[i], answer.values[i]), answer.rank_bound[i] + 1e-12)
          << name << phis[i];
    }
  }
}

TEST(Retable, MergesAfterTransport) {
  const auto columns = Columns(4000);
  ChebyshevSketch all;
  ChebyshevSketch merged;
  std::vector<double> together;
  for (const char* name : {"normal", "bimodal"}) {
    const auto& values = columns.at(name);
    all.update(std::span<const double>(values));
    ChebyshevSketch part;
    part.update(std::span<const double>(values));
    merged.merge(*ChebyshevSketch::Deserialize(part.Serialize()));
    together.insert(together.end(), values.begin(), values.end());
  }
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_NEAR(MeanRankError(together, merged), MeanRankError(together, all), 1e-3);
  EXPECT_THROW(merged.merge(ChebyshevSketch(14)), std::invalid_argument);
  EXPECT_THROW(merged.merge(ChebyshevSketch(15, true)), std::invalid_argument);
}

TEST(Retable, ManyColumnsAtOnceAnswerAsEachAlone) {
  const auto columns = Columns(2000);
  std::vector<FitInput> inputs;
  for (const auto& [name, values] : columns) {
    ChebyshevSketch sketch;
    sketch.update(std::span<const double>(values));
    inputs.push_back(sketch.Input());
  }
  const auto phis = NiaePhis(101);
  const std::vector<ChebyshevFit> fits = FitColumns(inputs, CpuDualSolver(2));
  ASSERT_EQ(fits.size(), inputs.size());
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const ChebyshevFit alone(inputs[i]);
    EXPECT_EQ(fits[i].status().basis, alone.status().basis);
    EXPECT_EQ(fits[i].Quantiles(phis), alone.Quantiles(phis));
  }
}

TEST(Jacobi, FindsAtomsAndTheirMasses) {
  for (std::size_t count = 1; count <= 7; ++count) {
    Atoms atoms;
    for (std::size_t i = 0; i < count; ++i) {
      atoms.point.push_back(-0.9 + 1.7 * static_cast<double>(i * i) / 49);
      atoms.mass.push_back(2.0 * static_cast<double>(i + 1) /
                           static_cast<double>(count * (count + 1)));
    }
    Moments mu{};
    for (int k = 0; k <= kMaxOrder; ++k) {
      for (std::size_t i = 0; i < count; ++i) {
        mu[k] += atoms.mass[i] * std::cos(k * std::acos(atoms.point[i]));
      }
    }
    const JacobiMatrix jacobi(mu, 15, 1e-14);
    ASSERT_EQ(jacobi.atom_count(), static_cast<int>(count));
    const Atoms found = jacobi.Gauss();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(found.point[i], atoms.point[i], 1e-5);
      EXPECT_NEAR(found.mass[i], atoms.mass[i], 1e-5);
    }
    EXPECT_EQ(JacobiMatrix(mu, 2 * static_cast<int>(count) - 1, 1e-14).atom_count(), 0);
  }
}

}  // namespace
}  // namespace retable::quantiles
