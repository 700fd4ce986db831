#include "algorithms/treeshap/quadrature/tape/accumulators.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <stdexcept>
#include <unordered_map>

namespace retable::treeshap {

namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

float& Word(std::vector<Float4>& words, std::size_t at) {
  Float4& four = words[at / 4];
  switch (at % 4) {
    case 0:
      return four.x;
    case 1:
      return four.y;
    case 2:
      return four.z;
    default:
      return four.w;
  }
}

// The sums of each operation with the next operation that adds to them.
struct Use {
  std::size_t word;  // where it is named
  std::uint32_t feature;
  std::size_t next;
};

class PlaceGiver {
 public:
  PlaceGiver(const Operations& run, std::uint32_t most_places)
      : run_(run), most_(most_places), names_(run.words) {
    FindUses();
  }

  PlacedOperations Run() {
    for (std::size_t i = 0; i < run_.starts.size(); ++i) {
      const auto uses = std::span(uses_).subspan(first_[i], first_[i + 1] - first_[i]);
      MakeRoom(uses);
      for (const Use& use : uses) Add(use);
      Copy(i);
    }
    std::vector<std::uint32_t> all;
    for (std::uint32_t p = 0; p < places_.size(); ++p) {
      if (places_[p].adds == 0) continue;
      all.push_back(p);
      GiveUp(p);
    }
    Spill(all);
    out_.places = static_cast<std::uint32_t>(places_.size());
    return std::move(out_);
  }

 private:
  struct Place {
    std::uint32_t feature = 0;
    std::size_t next = kNever;  // operation that adds to it
    std::uint32_t adds = 0;     // since it was empty; 0: nobody's
  };

  void FindUses() {
    std::size_t k = 0;
    for (std::size_t i = 0; i < run_.starts.size(); ++i) {
      first_.push_back(k);
      const std::size_t end = i + 1 < run_.starts.size() ? run_.starts[i + 1] : run_.words.size();
      for (; k < run_.sums.size() && run_.sums[k] < 4 * end; ++k) {
        const auto bits = std::bit_cast<std::uint32_t>(Word(names_, run_.sums[k]));
        uses_.push_back({run_.sums[k], bits & tape::kPlacedFeatureMask, kNever});
      }
    }
    first_.push_back(k);
    std::unordered_map<std::uint32_t, std::size_t> next;
    for (std::size_t i = run_.starts.size(); i-- > 0;) {
      for (std::size_t u = first_[i]; u < first_[i + 1]; ++u) {
        const auto it = next.find(uses_[u].feature);
        if (it != next.end()) uses_[u].next = it->second;
      }
      for (std::size_t u = first_[i]; u < first_[i + 1]; ++u) next[uses_[u].feature] = i;
    }
  }

  // Places for all of an operation's sums; those that have their most adds begin anew.
  void MakeRoom(std::span<const Use> uses) {
    std::vector<std::uint32_t> fresh;
    std::vector<std::uint32_t> kept;
    std::vector<std::uint32_t> spilled;
    for (const Use& use : uses) {
      const auto it = place_of_.find(use.feature);
      if (it == place_of_.end()) {
        if (std::find(fresh.begin(), fresh.end(), use.feature) == fresh.end()) {
          fresh.push_back(use.feature);
        }
      } else if (places_[it->second].adds >= kMostAdds) {
        spilled.push_back(it->second);
        fresh.push_back(use.feature);
        GiveUp(it->second);
      } else {
        kept.push_back(it->second);
      }
    }
    const std::size_t room = free_.size() + std::max(most_, places_.size()) - places_.size();
    if (room < fresh.size()) {
      for (const std::uint32_t p : Latest(kept, std::max(fresh.size() - room, kSpillAtOnce))) {
        spilled.push_back(p);
        GiveUp(p);
      }
    }
    Spill(spilled);
    for (const std::uint32_t feature : fresh) Take(feature);
  }

  // Those in use, beside `kept`, whose features come again last.
  std::vector<std::uint32_t> Latest(const std::vector<std::uint32_t>& kept, std::size_t count) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t p = 0; p < places_.size(); ++p) {
      if (places_[p].adds > 0 && std::find(kept.begin(), kept.end(), p) == kept.end()) {
        others.push_back(p);
      }
    }
    std::stable_sort(others.begin(), others.end(), [&](std::uint32_t a, std::uint32_t b) {
      return places_[a].next > places_[b].next;
    });
    if (others.size() > count) others.resize(count);
    return others;
  }

  void GiveUp(std::uint32_t place) {
    place_of_.erase(places_[place].feature);
    out_.columns.push_back(static_cast<std::int32_t>(places_[place].feature));
    places_[place].adds = 0;
    free_.push_back(place);
  }

  void Take(std::uint32_t feature) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back();
    }
    place_of_[feature] = free_.back();
    places_[free_.back()].feature = feature;
    free_.pop_back();
  }

  void Add(const Use& use) {
    const std::uint32_t p = place_of_.at(use.feature);
    places_[p].next = use.next;
    ++places_[p].adds;
    float& word = Word(names_, use.word);
    word = std::bit_cast<float>(std::bit_cast<std::uint32_t>(word) | p << tape::kPlaceShift);
  }

  void Spill(const std::vector<std::uint32_t>& places) {
    if (places.empty()) return;
    Operations& to = out_.operations;
    to.starts.push_back(to.words.size());
    to.words.push_back({std::bit_cast<float>(static_cast<std::int32_t>(tape::kSpill)),
                        std::bit_cast<float>(static_cast<std::uint32_t>(places.size())), 0, 0});
    const std::size_t first = 4 * to.words.size();
    to.words.resize(to.words.size() + (places.size() + 3) / 4, Float4{0, 0, 0, 0});
    for (std::size_t i = 0; i < places.size(); ++i) {
      Word(to.words, first + i) = std::bit_cast<float>(places[i] << tape::kPlaceShift);
    }
  }

  void Copy(std::size_t operation) {
    const std::size_t end =
        operation + 1 < run_.starts.size() ? run_.starts[operation + 1] : run_.words.size();
    Operations& to = out_.operations;
    to.starts.push_back(to.words.size());
    to.words.insert(to.words.end(),
                    names_.begin() + static_cast<std::ptrdiff_t>(run_.starts[operation]),
                    names_.begin() + static_cast<std::ptrdiff_t>(end));
  }

  const Operations& run_;
  std::size_t most_;
  std::vector<Float4> names_;  // the run's words, with places
  std::vector<Use> uses_;
  std::vector<std::size_t> first_;  // of each operation's uses
  std::unordered_map<std::uint32_t, std::uint32_t> place_of_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;
  PlacedOperations out_;
};

}  // namespace

void Operations::Append(const Operations& more) {
  const std::size_t base = words.size();
  words.insert(words.end(), more.words.begin(), more.words.end());
  for (const std::size_t start : more.starts) starts.push_back(base + start);
  for (const std::size_t sum : more.sums) sums.push_back(4 * base + sum);
}

PlacedOperations GivePlaces(const Operations& run, std::uint32_t most_places) {
  PlacedOperations out = PlaceGiver(run, most_places).Run();
  if (out.places > tape::kPlaceMask + 1) throw std::logic_error("an operation of too many sums");
  return out;
}

}  // namespace retable::treeshap
