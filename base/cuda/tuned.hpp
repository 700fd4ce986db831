#pragma once
//! @file
//! Constants of the families' tuning headers whose best value `retable tune` measures on the user's
//! card. They change the time of a call, never a bit of its answer.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retable {

struct TunedConstant {
  std::string_view name;                 //!< "shuffle/rectangle_many_items"
  std::uint64_t standard;                //!< measured on an H200
  std::array<std::uint64_t, 6> tried{};  //!< what `retable tune` compares it with; 0: none
  std::string_view what;                 //!< what it decides, for the reader of the file
};

//! What `retable tune` measures: the standard value first, then each other that is not 0.
std::vector<std::uint64_t> ValuesOf(const TunedConstant& constant);

//! The value in force: that of SetTuned or ReadTuned, else the standard one. For any thread.
std::uint64_t Tuned(const TunedConstant& constant);

void SetTuned(std::string_view name, std::uint64_t value);
//! All constants have their standard values again.
void ClearTuned();

//! Takes lines "name value", as `retable tune` writes them; "#" begins a comment. A name that this
//! program does not have changes nothing.
//! @throws std::invalid_argument with source and line for anything else, and takes nothing then
void ReadTuned(const std::string& text, const std::string& source);

//! What is in force instead of standard values, in the form that ReadTuned takes, by name.
std::string WriteTuned();

}  // namespace retable
