#include "algorithms/shuffle/in_place/in_place.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/shuffle/item_method.hpp"
#include "algorithms/shuffle/partition/cpu/bulk_draws.hpp"
#include "algorithms/shuffle/split/stable_split.hpp"
#include "base/parallel.hpp"

namespace retable::shuffle {

InPlacePlan MakeInPlacePlan(std::uint64_t n, std::uint64_t chunk) {
  if (n > kMaxItems) {
    throw std::invalid_argument("shuffling in place takes up to 2^36 items, not " +
                                std::to_string(n));
  }
  const std::uint64_t parts =
      std::clamp<std::uint64_t>((n + chunk - 1) / chunk, 1, kInPlaceMostChunks);
  const std::uint64_t even = (n + parts - 1) / parts;
  return {n, (even + 255) / 256 * 256, static_cast<std::uint32_t>(parts)};
}

namespace {

// The places of [begin, end) that hold digit d.
void AddPieces(const InPlacePlan& plan, const std::vector<std::uint32_t>& starts,
               std::uint64_t begin, std::uint64_t end, std::uint32_t digit, Holding& holding) {
  int pieces = 0;
  for (std::uint64_t c = begin / plan.chunk; c * plan.chunk < end; ++c) {
    const std::uint32_t* segment = &starts[c * (plan.parts + std::uint64_t{1}) + digit];
    const std::uint64_t first = std::max(begin, plan.chunk_begin(c) + segment[0]);
    const std::uint64_t last = std::min(end, plan.chunk_begin(c) + segment[1]);
    if (first >= last) continue;
    if (pieces == 3) throw std::runtime_error("a bucket is too far from its expected place");
    holding.begin[pieces] = first;
    holding.length[pieces] = static_cast<std::uint32_t>(last - first);
    holding.size += holding.length[pieces++];
  }
}

}  // namespace

Exchange MakeExchange(const InPlacePlan& plan, const std::vector<std::uint32_t>& starts) {
  const std::uint64_t parts = plan.parts;
  Exchange exchange;
  exchange.begins.assign(parts + 1, 0);
  for (std::uint64_t c = 0; c < parts; ++c) {
    for (std::uint64_t d = 0; d < parts; ++d) {
      const std::uint32_t* segment = &starts[c * (parts + 1) + d];
      exchange.begins[d + 1] += segment[1] - segment[0];
    }
  }
  for (std::uint64_t d = 0; d < parts; ++d) exchange.begins[d + 1] += exchange.begins[d];
  exchange.holdings.assign(parts * parts, Holding{});
  const auto at = [&](std::uint64_t b, std::uint64_t d) -> Holding& {
    return exchange.holdings[b * parts + d];
  };
  for (std::uint64_t b = 0; b < parts; ++b) {
    for (std::uint32_t d = 0; d < parts; ++d) {
      AddPieces(plan, starts, exchange.begins[b], exchange.begins[b + 1], d, at(b, d));
    }
  }
  std::uint32_t into = 0, from = 0;
  for (std::uint64_t d = 0; d < parts; ++d) {
    for (std::uint64_t b = 0; b < parts; ++b) {
      // To bucket d from region b; and places of region d that held digit b.
      Holding& gives = at(b, d);
      gives.kept = std::min(gives.size, at(d, b).size);
      gives.into = into;
      into += gives.size - gives.kept;
      Holding& takes = at(d, b);
      takes.from = from;
      from += takes.size - std::min(takes.size, gives.size);
    }
  }
  exchange.buffer = into;
  return exchange;
}

std::uint64_t ExchangeBuffer(const InPlacePlan& plan) {
  // A pair leaves |U(b, d) - U(d, b)| items, of mean sqrt(4 n / pi) / K; there are K^2 / 2 pairs.
  // Regions off their chunks cut segments and leave some more.
  const double n = static_cast<double>(plan.n), parts = plan.parts;
  return static_cast<std::uint64_t>(0.6 * parts * std::sqrt(n) + 12 * std::sqrt(n) + 1024);
}

namespace {

template <class Item>
void CopyItems(const Item* from, Item* to, std::uint64_t count) {
  ParallelBlocks(count, kSplitRange, [&](std::uint64_t begin, std::uint64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

template <class Item>
void ExchangeItems(const Exchange& exchange, std::uint64_t parts, Item* items) {
  std::vector<Item> buffer(exchange.buffer);
  const auto at = [&](std::uint64_t b, std::uint64_t d) -> const Holding& {
    return exchange.holdings[b * parts + d];
  };
  ParallelFor(parts, [&](std::uint64_t b) {
    for (std::uint64_t d = 0; d < parts; ++d) {
      const Holding& mine = at(b, d);
      for (std::uint32_t k = 0; b < d && k < mine.kept; ++k) {
        std::swap(items[mine.place(k)], items[at(d, b).place(k)]);
      }
      for (std::uint32_t k = mine.kept; k < mine.size; ++k) {
        buffer[mine.into + k - mine.kept] = items[mine.place(k)];
      }
    }
  });
  ParallelFor(parts, [&](std::uint64_t b) {
    for (std::uint64_t d = 0; d < parts; ++d) {
      const Holding& mine = at(b, d);
      for (std::uint32_t k = mine.kept; k < mine.size; ++k) {
        items[mine.place(k)] = buffer[mine.from + k - mine.kept];
      }
    }
  });
}

template <class Item>
void ByExchange(const Item* in, Item* out, std::uint64_t n, std::uint64_t seed,
                std::uint64_t chunk) {
  const InPlacePlan plan = MakeInPlacePlan(n, chunk);
  const auto partition = Registry<Shuffler>::Instance().Make("Partition", Device::kCpu, {});
  std::vector<Item> scratch;
  const auto shuffle_bucket = [&](const Item* from, std::uint64_t begin, std::uint64_t end,
                                  std::uint64_t key) {
    scratch.resize(std::max(scratch.size(), end - begin));
    CopyItems(from + begin, scratch.data(), end - begin);
    partition->shuffle(scratch.data(), out + begin, end - begin, sizeof(Item), key);
  };
  if (plan.parts == 1) return shuffle_bucket(in, 0, n, seed);
  const Philox4x32 random = Philox4x32::FromSeed(seed);
  std::vector<std::uint32_t> starts;
  starts.reserve(plan.parts * (plan.parts + std::uint64_t{1}));
  if (in == out) scratch.resize(plan.chunk);
  for (std::uint64_t c = 0; c < plan.parts; ++c) {
    const std::uint64_t first = plan.chunk_begin(c), size = plan.chunk_begin(c + 1) - first;
    const auto start = SplitByDigits(
        plan.parts, in + first, in == out ? scratch.data() : out + first, size,
        [&](std::uint64_t begin, std::uint64_t end, auto&& visit) {
          ForEachDigit(random, kInPlaceStream, plan.parts, first + begin, first + end,
                       [&](std::uint64_t i, std::uint32_t digit) { visit(i - first, digit); });
        });
    if (in == out) CopyItems(scratch.data(), out + first, size);
    for (const std::uint64_t s : start) starts.push_back(static_cast<std::uint32_t>(s));
  }
  const Exchange exchange = MakeExchange(plan, starts);
  ExchangeItems(exchange, plan.parts, out);
  for (std::uint32_t b = 0; b < plan.parts; ++b) {
    shuffle_bucket(out, exchange.begins[b], exchange.begins[b + 1], BucketSeed(seed, b));
  }
}

}  // namespace

void ShuffleByExchange(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
                       std::uint64_t seed, std::uint64_t chunk) {
  WithItems(in, out, item_bytes,
            [&](const auto* source, auto* target) { ByExchange(source, target, n, seed, chunk); });
}

namespace {

RETABLE_REGISTER(Shuffler, in_place,
                 {.name = "InPlace",
                  .summary = "partition shuffle without a second array: segments change places",
                  .citation = "ours",
                  .make = [](const Parameters&) {
                    return MakeItemMethod(
                        [](const auto* in, auto* out, std::uint64_t n, std::uint64_t seed) {
                          std::copy_n(in, n, out);
                          ShuffleInPlace(out, n, sizeof(*out), seed);
                        });
                  }});

}  // namespace
}  // namespace retable::shuffle
