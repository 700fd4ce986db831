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
  explicit ItemMethod(F f) : f_(std::move(f)) {}

 private:
  void Run(const void* in, void* out, std::uint64_t n, std::size_t item_bytes,
           std::uint64_t seed) override {
    WithItems(in, out, item_bytes,
              [&](const auto* source, auto* target) { f_(source, target, n, seed); });
  }

  F f_;
};

//! Calls f(in, out, n, seed) with pointers to items of 4, 8 or 16 bytes.
template <class F>
std::unique_ptr<Shuffler> MakeItemMethod(F f) {
  return std::make_unique<ItemMethod<F>>(std::move(f));
}

}  // namespace retable::shuffle
