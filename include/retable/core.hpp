#pragma once
//! @mainpage
//! One header a family, and a component of the same name for CMake and for pkg-config
//! (`retable_treeshap`): retable/treeshap.hpp, retable/extratrees.hpp, retable/quantiles.hpp,
//! retable/shuffle.hpp, retable/shapley.hpp, and retable/thrust_shuffle.cuh where the library was
//! built with CUDA. README.md says how they are installed. An object that was moved from may be
//! assigned to or destroyed, no more. A program that uses two:
//! @include main.cpp

//! @file
//! What all components share: the version, and the devices that answer.

#include <cstddef>
#include <functional>
#include <string>

namespace retable {

//! "1.0.0"
const char* Version();

//! Whether this library was compiled with CUDA backends.
bool BuiltWithCuda();

//! CUDA devices that answer; 0 without a driver, or in a library without CUDA. O(1) after the first
//! call.
int CudaDevices();

//! Why no device answers, and what to do about it; empty where one does.
std::string WhyNoCudaDevice();

//! Memory of CUDA device 0, which functions write whose names end in on_device or OnDevice. Such a
//! call takes addresses of that device and a stream (a cudaStream_t; null: the default stream): it
//! works behind what the stream holds, and returns when its own work is in the stream.
class DeviceMemory {
 public:
  //! Not initialised. @throws std::invalid_argument without a device, std::runtime_error without
  //! that much memory
  explicit DeviceMemory(std::size_t bytes);
  ~DeviceMemory();                             //!< waits for what the device does with it
  DeviceMemory(const DeviceMemory&) = delete;  //!< is not copied
  DeviceMemory& operator=(const DeviceMemory&) = delete;  //!< is not copied

  void* data() const { return data_; }        //!< on the device
  std::size_t size() const { return size_; }  //!< bytes
  //! What `stream` holds now is what writes it.
  void written_on(void* stream);
  //! What `stream` holds from here on comes behind what writes it.
  void wait_on(void* stream) const;
  bool written() const;      //!< whether that is done
  void synchronize() const;  //!< waits for it

 private:
  void* data_ = nullptr;
  void* written_ = nullptr;  // an event
  std::size_t size_ = 0;
};

//! Copies from device memory to the host, behind what `stream` holds, and waits.
void CopyToHost(const void* from, void* to, std::size_t bytes, void* stream);

//! Whether an address is one that CUDA device 0 can be given: its own memory, or managed memory.
//! Else why not: "it is memory of the host". @return empty where it is
std::string WhyNotOnDevice(const void* address);

//! Processor threads that a call uses when it is given none.
int Threads();

//! Calls work. Between the parts of what it has this library do on the processor, such as the trees
//! of a forest or the coalitions asked for, `check` is called on this thread; what it throws ends
//! the work and passes on. It must not use the object that is at work. An update of a sketch is one
//! part.
void Interruptible(const std::function<void()>& check, const std::function<void()>& work);

}  // namespace retable
