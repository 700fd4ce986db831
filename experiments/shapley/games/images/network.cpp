#include "experiments/shapley/games/images/network.hpp"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <stdexcept>

namespace retable::experiments {
namespace {

using Reader = ImageNetwork* (*)(const char*, std::size_t, const Image*, std::size_t, int, char*,
                                 std::size_t);

// The library beside the program, opened once.
struct OpenCv {
  Reader read = nullptr;
  std::string why;

  OpenCv() {
    const auto path =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libretable_opencv.so";
    if (!std::filesystem::exists(path)) {
      why = "no libretable_opencv.so beside the program: install libopencv-dnn-dev and build again";
      return;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) read = reinterpret_cast<Reader>(dlsym(library, "RetableReadOnnx"));
    if (read == nullptr) why = std::string("OpenCV cannot be loaded: ") + dlerror();
  }
};

const OpenCv& TheOpenCv() {
  static const OpenCv opencv;
  return opencv;
}

}  // namespace

std::optional<std::string> WhyNoNetworks() {
  if (TheOpenCv().read != nullptr) return {};
  return TheOpenCv().why;
}

std::unique_ptr<ImageNetwork> ReadOnnx(std::string_view bytes, const Image& like, std::size_t batch,
                                       int threads) {
  if (const auto why = WhyNoNetworks()) throw std::invalid_argument(*why);
  std::array<char, 1000> error{};
  std::unique_ptr<ImageNetwork> network(TheOpenCv().read(bytes.data(), bytes.size(), &like, batch,
                                                         threads, error.data(), error.size()));
  if (!network) throw std::invalid_argument(error.data());
  return network;
}

}  // namespace retable::experiments
