#pragma once
//! @file
//! A method on the CPU, made of a function of typed items.

#include <memory>
#include <utility>

#include "algorithms/shuffle/items.hpp"
#include "algorithms/shuffle/shuffler.hpp"

namespace retable::shuffle {

template <class F>
class ItemMethod final : public Shuffler {
 public:
  ItemMethod(F f, bool deterministic) : f_(std::move(f)), deterministic_(deterministic) {}
  bool deterministic() const override { return deterministic_; }

 private:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    WithItems(in, out, item_bytes,
              [&](const auto* source, auto* target) { f_(source, target, n, seed); });
  }

  F f_;
  bool deterministic_;
};

//! Calls f(in, out, n, seed) with pointers to items of 4, 8 or 16 bytes.
template <class F>
std::unique_ptr<Shuffler> MakeItemMethod(F f, bool deterministic = true) {
  return std::make_unique<ItemMethod<F>>(std::move(f), deterministic);
}

}  // namespace retable::shuffle
