#include "baselines/quantiles/datasketches.hpp"

#include <cmath>
#include <stdexcept>

#include "algorithms/quantiles/quantile_sketch.hpp"

#if defined(RETABLE_HAS_DATASKETCHES)
#include <DataSketches/kll_sketch.hpp>
#include <DataSketches/quantiles_sketch.hpp>
#include <DataSketches/req_sketch.hpp>
#include <DataSketches/tdigest.hpp>
#endif

namespace retable::quantiles {

bool HasDataSketches() {
#if defined(RETABLE_HAS_DATASKETCHES)
  return true;
#else
  return false;
#endif
}

bool IsDataSketches(const std::string& method) {
  return method.starts_with("DataSketches-");
}

namespace {

enum class Kind { kKll, kClassic, kReq, kTDigest };

#if defined(RETABLE_HAS_DATASKETCHES)

//! One adapter: the interfaces of the sketches differ little.
template <class Sketch>
class Adapter final : public QuantileSketch {
 public:
  Adapter(std::uint16_t k, std::uint64_t seed) : k_(k), seed_(seed), sketch_(k) {
    datasketches::random_utils::override_seed(seed);
  }

  void update(std::span<const float> values) override { Feed(values); }
  void update(std::span<const double> values) override { Feed(values); }
  void merge(const QuantileSketch& other) override {
    const auto* same = dynamic_cast<const Adapter*>(&other);
    if (same == nullptr || same->k_ != k_) {
      throw std::invalid_argument("merge of a DataSketches sketch with another kind or another k");
    }
    Sketch theirs = same->sketch_;
    sketch_.merge(theirs);
    infinities_.Merge(same->infinities_);
  }
  std::size_t count() const override { return Held() + infinities_.count(); }
  Infinities infinities() const override { return infinities_; }
  std::size_t bytes() const override {
    if constexpr (kDigest) {
      return sketch_.get_serialized_size_bytes();
    } else {
      return sketch_.serialize().size();
    }
  }
  std::unique_ptr<QuantileSketch> empty_clone() const override {
    return std::make_unique<Adapter>(k_, seed_);
  }

 protected:
  std::vector<double> finite_quantiles(std::span<const double> phis) const override {
    if (Held() == 0) throw std::logic_error("quantiles of an empty stream");
    std::vector<double> out;
    for (const double phi : phis) out.push_back(static_cast<double>(sketch_.get_quantile(phi)));
    return out;
  }

 private:
  static constexpr bool kDigest = std::is_same_v<Sketch, datasketches::tdigest<float>>;

  std::size_t Held() const {
    if constexpr (kDigest) {
      return sketch_.get_total_weight();
    } else {
      return sketch_.get_n();
    }
  }

  template <class Real>
  void Feed(std::span<const Real> values) {
    for (const Real value : values) {
      // Doubles beyond the range of float32 are infinite to these sketches.
      const auto x = static_cast<float>(value);
      if (std::isnan(value) || infinities_.Take(static_cast<double>(x))) continue;
      sketch_.update(x);
    }
  }

  std::uint16_t k_;
  std::uint64_t seed_;
  Sketch sketch_;
  Infinities infinities_;
};

std::unique_ptr<QuantileSketch> Make(Kind kind, std::uint16_t k, std::uint64_t seed) {
  switch (kind) {
    case Kind::kKll:
      return std::make_unique<Adapter<datasketches::kll_sketch<float>>>(k, seed);
    case Kind::kClassic:
      return std::make_unique<Adapter<datasketches::quantiles_sketch<float>>>(k, seed);
    case Kind::kReq:
      return std::make_unique<Adapter<datasketches::req_sketch<float>>>(k, seed);
    case Kind::kTDigest:
      return std::make_unique<Adapter<datasketches::tdigest<float>>>(k, seed);
  }
  throw std::logic_error("no such sketch");
}

#else

std::unique_ptr<QuantileSketch> Make(Kind, std::uint16_t, std::uint64_t) {
  throw std::runtime_error(
      "this build has no Apache DataSketches: install its headers and configure with "
      "-DDATASKETCHES_ROOT=FOLDER");
}

#endif

Method<QuantileSketch> Describe(const char* name, const char* summary, Kind kind,
                                std::int64_t fallback) {
  return {.name = name,
          .summary = summary,
          .citation = "Apache DataSketches, C++",
          .parameters = {{"k", fallback, "size parameter of the sketch"},
                         {"seed", std::int64_t{1}, "seed of the coins"}},
          .make = [kind, fallback](const Parameters& p) {
            const std::int64_t k = IntegerParameter(p, "k", fallback);
            if (k < 1 || k > 65535) throw std::invalid_argument("k must be 1 to 65535");
            return Make(kind, static_cast<std::uint16_t>(k),
                        static_cast<std::uint64_t>(IntegerParameter(p, "seed", 1)));
          }};
}

RETABLE_REGISTER(QuantileSketch, datasketches_kll,
                 (Describe("DataSketches-KLL", "KLL as shipped", Kind::kKll, 200)));
RETABLE_REGISTER(QuantileSketch, datasketches_classic,
                 (Describe("DataSketches-classic", "the classic sketch", Kind::kClassic, 128)));
RETABLE_REGISTER(QuantileSketch, datasketches_req,
                 (Describe("DataSketches-REQ", "relative-error compactors", Kind::kReq, 12)));
RETABLE_REGISTER(QuantileSketch, datasketches_tdigest,
                 (Describe("DataSketches-t-digest", "centroids, fine at the tails", Kind::kTDigest,
                           200)));

}  // namespace
}  // namespace retable::quantiles
