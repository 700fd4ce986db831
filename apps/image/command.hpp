#pragma once
//! @file
//! `retable image`: what each tile of an image adds to a network's answer, for a network of one's
//! own in an ONNX file, on a CPU or a GPU.

#include <iosfwd>
#include <string>
#include <vector>

namespace retable::experiments {

//! @return 0 done; 1 wrong usage; 2 it failed
int ImageMain(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace retable::experiments
