"""Arrays in GPU memory without CuPy or PyTorch, for tests: memory of the package, filled through the driver."""

import ctypes
import os

import numpy
import pytest

import retable
from retable import _device, _retable

needs_gpu = pytest.mark.skipif(not retable.cuda_devices(), reason="no CUDA device answers")


def fresh(name):
    """A generator of a new seed, or of RETABLE_TEST_SEED; a failed test's output names it."""
    seed = int(os.environ.get("RETABLE_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
    print(f"{name}: RETABLE_TEST_SEED={seed}")
    return numpy.random.default_rng(seed)


def _driver(call, *arguments):
    status = getattr(ctypes.CDLL("libcuda.so.1"), call)(*arguments)
    assert status == 0, f"{call}: {status}"


class Stream:
    """A stream that does not wait for the default one."""

    def __init__(self):
        _retable.DeviceMemory(1)  # the context
        self._handle = ctypes.c_void_p()
        _driver("cuStreamCreate", ctypes.byref(self._handle), 1)
        self.number = self._handle.value

    def wait(self):
        _driver("cuStreamSynchronize", self._handle)

    def close(self):
        _driver("cuStreamDestroy_v2", self._handle)


def free_bytes():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def memory_of(values, before=0):
    """Device memory with the values behind `before` bytes."""
    memory = _retable.DeviceMemory(before + max(1, values.nbytes))
    if values.nbytes:
        _driver("cuMemcpyHtoD_v2", ctypes.c_uint64(memory.address + before),
                ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes))
    return memory


class Interface:
    """An array with a __cuda_array_interface__ and nothing else."""

    def __init__(self, values, before=0, **other):
        values = numpy.ascontiguousarray(values)
        self._memory = memory_of(values, before)
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "strides": None, "version": 3,
            "data": (self._memory.address + before, True), **other}

    def to_numpy(self):
        found = _device.parse_interface(self.__cuda_array_interface__, "x")
        return _device._to_numpy(found["address"], found["shape"], found["dtype"], 0)


class Dlpack:
    """An array with DLPack's two methods and nothing else, of version 0 or 1."""

    def __init__(self, values, asks_version=False):
        values = numpy.ascontiguousarray(values)
        self._array = _device.DeviceArray(memory_of(values), 0, values.shape, values.dtype)
        self._asks_version = asks_version

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, stream=None, max_version=None):
        if self._asks_version and max_version is None:
            raise BufferError("read-only: ask for version 1")
        return self._array.__dlpack__(stream=stream)
