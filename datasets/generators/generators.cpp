#include "datasets/generators/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>

#include "algorithms/common/philox.hpp"
#include "base/sha256.hpp"
#include "base/text/ascii.hpp"
#include "datasets/generators/make_tables.hpp"
#include "datasets/generators/normal_draw.hpp"
#include "datasets/generators/portable_math.hpp"

namespace retable::datasets {
namespace {

//! Raised whenever a definition's numbers change; part of every generator's hash.
constexpr const char* kVersion = "retable generators 1: ";

//! Where draws come from: value `index` of a column under one key.
struct BitSource {
  Philox4x32 bits;
  std::uint64_t index;

  PhiloxBlock Block(std::uint64_t attempt) const { return bits.Block(index, attempt); }
};

double Uniform(const BitSource& source) {
  return UniformDouble(source.Block(0).half(0));
}

//! Marsaglia & Tsang 2000, section 3: squeeze left out, since speed is not the point here.
double GammaDraw(const BitSource& source, double shape) {
  // Below 1 a Gamma(shape + 1) times U^(1/shape) (their section 6).
  if (shape < 1) {
    const double u = UniformDoubleOpenBelow(source.Block(1ull << 40).half(0));
    return GammaDraw(source, shape + 1) * PortableExp(PortableLog(u) / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (std::uint64_t attempt = 0;; ++attempt) {
    // Each attempt owns 2^20 blocks for its normal and one for its uniform.
    const double x = NormalDraw(source.bits, source.index, (attempt << 20) + 1);
    const double v = 1.0 + c * x;
    if (v <= 0) continue;
    const double cube = v * v * v;
    const double u = UniformDoubleOpenBelow(source.Block(attempt << 20).half(0));
    if (PortableLog(u) < 0.5 * x * x + d * (1.0 - cube + PortableLog(cube))) return d * cube;
  }
}

using Draw = double (*)(const BitSource&, double, double);

double DrawNormal(const BitSource& s, double mean, double sd) {
  return mean + sd * NormalDraw(s.bits, s.index, 0);
}
double DrawUniform(const BitSource& s, double low, double high) {
  return low + (high - low) * Uniform(s);
}
double DrawLognormal(const BitSource& s, double mu, double sigma) {
  return PortableExp(mu + sigma * NormalDraw(s.bits, s.index, 0));
}
double DrawGamma(const BitSource& s, double shape, double scale) {
  return scale * GammaDraw(s, shape);
}
// Whether the value is one of `share` of all.
bool IsOf(const BitSource& s, double share) {
  return UniformDouble(s.Block(1ull << 40).half(0)) < share;
}
double DrawZeroInflated(const BitSource& s, double zeros, double) {
  return IsOf(s, zeros) ? 0.0 : PortableExp(NormalDraw(s.bits, s.index, 0));
}
double DrawDiscrete(const BitSource& s, double levels, double) {
  return static_cast<double>(UniformBelow(s.Block(0).half(0), static_cast<std::uint64_t>(levels)));
}
double DrawDrifting(const BitSource& s, double rate, double sd) {
  return rate * static_cast<double>(s.index) + sd * NormalDraw(s.bits, s.index, 0);
}

double DrawFrequent(const BitSource& s, double share, double values) {
  if (!IsOf(s, share)) return NormalDraw(s.bits, s.index, 0);
  const PhiloxBlock bits = s.Block(1ull << 40);
  return static_cast<double>(UniformBelow(bits.half(1), static_cast<std::uint64_t>(values)));
}
double DrawMissing(const BitSource& s, double share, double) {
  return IsOf(s, share) ? std::nan("") : NormalDraw(s.bits, s.index, 0);
}
double DrawAscending(const BitSource& s, double step, double) {
  return step * (static_cast<double>(s.index) + Uniform(s));
}
double DrawBlocks(const BitSource& s, double length, double sd) {
  const std::uint64_t block = s.index / static_cast<std::uint64_t>(length);
  return NormalDraw(s.bits, block, 1ull << 40) + sd * NormalDraw(s.bits, s.index, 0);
}

struct Parameter {
  const char* name;
  double fallback;
  double low;
  double high;
  bool whole;
};

struct Kind {
  const char* name;
  std::vector<Parameter> parameters;
  Draw draw;  //!< a function of the first two parameters; null for tables
};

constexpr double kHuge = 1e300;

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"normal", {{"mean", 0, -kHuge, kHuge, false}, {"sd", 1, 0, kHuge, false}}, DrawNormal},
      {"uniform",
       {{"low", 0, -kHuge, kHuge, false}, {"high", 1, -kHuge, kHuge, false}},
       DrawUniform},
      {"lognormal", {{"mu", 0, -600, 600, false}, {"sigma", 1, 0, 80, false}}, DrawLognormal},
      {"gamma", {{"shape", 1, 1e-3, 1e6, false}, {"scale", 1, 1e-300, kHuge, false}}, DrawGamma},
      {"zero_inflated", {{"zeros", 0.8, 0, 1, false}}, DrawZeroInflated},
      {"discrete", {{"levels", 10, 1, 1 << 24, true}}, DrawDiscrete},
      {"drifting",
       {{"rate", 1e-5, -kHuge, kHuge, false}, {"sd", 1, 0, kHuge, false}},
       DrawDrifting},
      {"frequent", {{"share", 0.5, 0, 1, false}, {"values", 2, 1, 1 << 24, true}}, DrawFrequent},
      {"missing", {{"share", 0.1, 0, 1, false}}, DrawMissing},
      {"ascending", {{"step", 1, 0, kHuge, false}}, DrawAscending},
      {"blocks", {{"length", 1000, 1, 1e15, true}, {"sd", 0.01, 0, kHuge, false}}, DrawBlocks},
      {"make_regression",
       {{"n_samples", 1000, 1, 1e9, true},
        {"n_features", 10, 1, 1e6, true},
        {"n_informative", 10, 0, 1e6, true},
        {"noise", 0, 0, kHuge, false},
        {"bias", 0, -kHuge, kHuge, false}},
       nullptr},
      {"make_classification",
       {{"n_samples", 1000, 1, 1e9, true},
        {"n_features", 20, 1, 1e6, true},
        {"n_informative", 2, 1, 1e6, true},
        {"n_redundant", 2, 0, 1e6, true},
        {"n_classes", 2, 2, 1e4, true},
        {"n_clusters_per_class", 2, 1, 1e4, true},
        {"class_sep", 1, 0, kHuge, false},
        {"flip_y", 0.01, 0, 1, false}},
       nullptr},
  };
  return kinds;
}

const Kind* FindKind(const std::string& name) {
  for (const Kind& kind : Kinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

std::string Trim(const std::string& text) {
  return std::string(Trimmed(text));
}

std::string WithoutPrefix(const std::string& text) {
  const std::string trimmed = Trim(text);
  const std::string prefix = "synthetic ";
  return trimmed.rfind(prefix, 0) == 0 ? Trim(trimmed.substr(prefix.size())) : trimmed;
}

[[noreturn]] void Fail(const std::string& text, const std::string& why) {
  throw std::invalid_argument("generator \"" + text + "\": " + why);
}

double ParseNumber(const std::string& whole, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    Fail(whole, "\"" + text + "\" is not a number");
  }
  return value;
}

std::string FormatNumber(double value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

std::string Allowed(const Kind& kind) {
  std::string text = std::string(kind.name) + "(";
  for (const Parameter& p : kind.parameters) {
    text += (text.back() == '(' ? "" : ", ") + std::string(p.name) + "=" + FormatNumber(p.fallback);
  }
  return text + ")";
}

void Assign(GeneratorSpec& spec, const std::string& text, const Parameter& p, double value) {
  if (value < p.low || value > p.high || (p.whole && value != std::floor(value))) {
    Fail(text, std::string(p.name) + " = " + FormatNumber(value) + " must be a " +
                   (p.whole ? "whole number" : "number") + " from " + FormatNumber(p.low) + " to " +
                   FormatNumber(p.high));
  }
  spec.values[p.name] = value;
}

//! The shortest definition that gives the same data: defaults at the end are left out, tables name
//! their arguments.
std::string Canonical(const Kind& kind, const GeneratorSpec& spec) {
  std::string arguments;
  const auto separator = [&] { return std::string(arguments.empty() ? "" : ","); };
  if (spec.is_table()) {
    for (const Parameter& p : kind.parameters) {
      const double value = spec.values.at(p.name);
      if (value == p.fallback && p.name != std::string("n_samples")) continue;
      arguments += fmt::format("{}{}={}", separator(), p.name, FormatNumber(value));
    }
  } else {
    for (const Parameter& p : kind.parameters) {
      // The scale of a gamma and the like are left out when they are the default.
      if (&p != &kind.parameters.front() && spec.values.at(p.name) == p.fallback &&
          (spec.kind == "gamma" || spec.kind == "drifting")) {
        continue;
      }
      arguments += separator() + FormatNumber(spec.values.at(p.name));
    }
  }
  return spec.kind + "(" + arguments + ")";
}

void CheckTogether(const GeneratorSpec& spec, const std::string& text) {
  const auto& v = spec.values;
  if (spec.kind == "uniform" && v.at("low") > v.at("high")) Fail(text, "low is above high");
  if (spec.kind == "make_classification") {
    if (v.at("n_informative") + v.at("n_redundant") > v.at("n_features")) {
      Fail(text, "n_informative + n_redundant is more than n_features");
    }
    const double clusters = v.at("n_classes") * v.at("n_clusters_per_class");
    if (v.at("n_informative") < 60 &&
        clusters > std::ldexp(1.0, static_cast<int>(v.at("n_informative")))) {
      Fail(text, "n_classes * n_clusters_per_class is more than 2^n_informative");
    }
  }
}

template <class Real>
void GenerateAny(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t offset,
                 std::span<Real> out) {
  const auto& [name, parameters, draw] = *FindKind(spec.kind);
  if (draw == nullptr) {
    throw std::invalid_argument(spec.kind + " makes tables, not a stream of values");
  }
  const double a = spec.values.at(parameters[0].name);
  const double b = parameters.size() > 1 ? spec.values.at(parameters[1].name) : 0.0;
  BitSource source{Philox4x32::FromSeed(seed), offset};
  for (Real& value : out) {
    value = static_cast<Real>(draw(source, a, b));
    ++source.index;
  }
}

}  // namespace

bool GeneratorSpec::is_table() const {
  return kind.rfind("make_", 0) == 0;
}

std::string GeneratorSpec::sha256() const {
  return Sha256(kVersion + text);
}

bool IsGenerator(const std::string& text) {
  const std::string bare = WithoutPrefix(text);
  return FindKind(Trim(bare.substr(0, bare.find('(')))) != nullptr;
}

std::vector<std::string> GeneratorNames() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.emplace_back(kind.name);
  return names;
}

GeneratorSpec ParseGenerator(const std::string& text) {
  const std::string bare = WithoutPrefix(text);
  const auto open = bare.find('(');
  GeneratorSpec spec;
  spec.kind = Trim(bare.substr(0, open));
  const Kind* kind = FindKind(spec.kind);
  if (kind == nullptr) {
    std::string known;
    for (const std::string& name : GeneratorNames()) known += (known.empty() ? "" : ", ") + name;
    Fail(text, "unknown; known are " + known);
  }
  for (const Parameter& p : kind->parameters) spec.values[p.name] = p.fallback;
  std::string arguments;
  if (open != std::string::npos) {
    if (bare.back() != ')') Fail(text, "the closing parenthesis is missing");
    arguments = Trim(bare.substr(open + 1, bare.size() - open - 2));
  }
  std::size_t position = 0;
  bool named = false;
  std::set<std::string> given;
  while (!arguments.empty()) {
    const auto comma = arguments.find(',');
    const std::string argument = Trim(arguments.substr(0, comma));
    arguments = comma == std::string::npos ? "" : arguments.substr(comma + 1);
    if (comma != std::string::npos && Trim(arguments).empty()) Fail(text, "an argument is missing");
    const auto equals = argument.find('=');
    const Parameter* parameter = nullptr;
    if (equals == std::string::npos) {
      if (named) Fail(text, "a positional argument follows a named one");
      if (position >= kind->parameters.size()) Fail(text, "takes " + Allowed(*kind));
      parameter = &kind->parameters[position++];
    } else {
      named = true;
      const std::string name = Trim(argument.substr(0, equals));
      for (const Parameter& p : kind->parameters) {
        if (name == p.name) parameter = &p;
      }
      if (parameter == nullptr) {
        Fail(text, "has no parameter \"" + name + "\"; takes " + Allowed(*kind));
      }
    }
    if (!given.insert(parameter->name).second) {
      Fail(text, "\"" + std::string(parameter->name) + "\" is given twice");
    }
    const std::string number = equals == std::string::npos ? argument : argument.substr(equals + 1);
    Assign(spec, text, *parameter, ParseNumber(text, Trim(number)));
  }
  CheckTogether(spec, text);
  spec.text = Canonical(*kind, spec);
  return spec;
}

void Generate(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t offset,
              std::span<double> out) {
  GenerateAny(spec, seed, offset, out);
}

void Generate(const GeneratorSpec& spec, std::uint64_t seed, std::uint64_t offset,
              std::span<float> out) {
  GenerateAny(spec, seed, offset, out);
}

Frame GenerateFrame(const GeneratorSpec& spec, std::uint64_t seed, std::int64_t rows) {
  if (rows < 0) throw std::invalid_argument("rows must not be negative");
  Frame frame;
  if (spec.is_table()) {
    GeneratorSpec sized = spec;
    if (rows > 0) sized.values["n_samples"] = static_cast<double>(rows);
    frame = spec.kind == "make_regression" ? MakeRegression(sized.values, seed)
                                           : MakeClassification(sized.values, seed);
  } else {
    FrameBuilder builder({{"x", ColumnKind::kNumeric, {}}}, {ColumnRole::kFeature});
    std::vector<double> values(4096);
    for (std::int64_t done = 0; done < rows;) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(4096, rows - done));
      Generate(spec, seed, static_cast<std::uint64_t>(done), std::span(values.data(), count));
      for (std::size_t i = 0; i < count; ++i) {
        *builder.Row() = values[i];
        builder.CommitRow();
      }
      done += static_cast<std::int64_t>(count);
    }
    frame = builder.Finish();
  }
  frame.name = spec.display_name();
  frame.origin = "generator";
  frame.sha256 = spec.sha256();
  return frame;
}

}  // namespace retable::datasets
