"""Arrays in GPU memory without CuPy or PyTorch, for tests: memory of the package, filled through the driver. Without a
device host memory plays a GPU's, so that what is written in Python is tested on any machine."""

import ctypes
import os

import numpy
import pytest

import retable
from retable import _device, _quantiles, _retable, _shuffle, _tree_explainer

needs_gpu = pytest.mark.skipif(not retable.cuda_devices(), reason="no CUDA device answers")


def fresh(name):
    """A generator of a new seed, or of RETABLE_TEST_SEED; a failed test's output names it."""
    seed = int(os.environ.get("RETABLE_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
    print(f"{name}: RETABLE_TEST_SEED={seed}")
    return numpy.random.default_rng(seed)


def _driver(call, *arguments):
    status = getattr(ctypes.CDLL("libcuda.so.1"), call)(*arguments)
    assert status == 0, f"{call}: {status}"


def _at(address, bytes_there):
    """The bytes at an address of this process."""
    return numpy.frombuffer((ctypes.c_uint8 * bytes_there).from_address(address), numpy.uint8)


class _Wrapped:
    """An object of the module, but for what a subclass says."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)


class _PlayedExplainer(_Wrapped):
    def __init__(self, model, device, *options):
        super().__init__(_retable.Explainer(model, "cpu", *options))
        self.device = "cpu" if device == "cpu" else "cuda"
        self._features, self._outputs = model.features, model.outputs

    def _explain(self, call, x, rows, to, per_row):
        x = _at(x, 4 * rows * self._features).view(numpy.float32).reshape(rows, self._features)
        call(x, _at(to, 8 * rows * per_row).view(float).reshape(rows, per_row))

    def values_on_device(self, x, rows, to, stream):
        self._explain(self._real.values, x, rows, to, self._outputs * (self._features + 1))

    def interactions_on_device(self, x, rows, to, stream):
        self._explain(self._real.interactions, x, rows, to, self._outputs * (self._features + 1)**2)


class _PlayedSketch(_Wrapped):
    def __init__(self, order, log, device):
        super().__init__(_retable.QuantileSketch(order, log, "cpu"))
        self._device = device

    def _update(self, values):
        if self._device != "cuda":
            raise ValueError('make it with device "cuda"')
        self._real.update(values)

    def update_on_device_4(self, x, n, stream):
        self._update(_at(x, 4 * n).view(numpy.float32))

    def update_on_device_8(self, x, n, stream):
        self._update(_at(x, 8 * n).view(float))


class _PlayedForest(_Wrapped):
    fit_classes = staticmethod(lambda x, y, w, options: _PlayedForest(
        _retable.Forest.fit_classes(x, y, w, {**options, "device": "cpu"})))
    fit_targets = staticmethod(lambda x, y, w, options: _PlayedForest(
        _retable.Forest.fit_targets(x, y, w, {**options, "device": "cpu"})))

    def predict_on_device(self, x, rows, to, stream):
        x = _at(x, 4 * rows * self._real.columns).view(numpy.float32).reshape(rows, self._real.columns)
        _at(to, 8 * rows * self._real.outputs).view(float)[:] = self._real.predict(x, 0).reshape(-1)


class _PlayedMemory:
    def __init__(self, size):
        self._content = numpy.full(size, 0xAB, numpy.uint8)
        self.size, self.address = size, self._content.ctypes.data

    def written(self):
        return True

    def written_on(self, stream):
        pass

    wait_on, synchronize = written_on, written


class Played(_Wrapped):
    """The module `_retable` where host memory is a GPU's."""

    DeviceMemory, Explainer, QuantileSketch, Forest = _PlayedMemory, _PlayedExplainer, _PlayedSketch, _PlayedForest

    def why_no_cuda_device(self):
        return ""

    def why_not_on_device(self, address):
        return "it is no address that CUDA knows" if address < 4096 else ""

    def copy_to_host(self, address, bytes_there, stream):
        return _at(address, bytes_there).copy() if bytes_there else numpy.empty(0, numpy.uint8)

    def to_dlpack(self, memory, begin, shape, strides, code, bits):
        return memory, memory.address + begin, tuple(shape), tuple(strides), code, bits, 1, 2, 0

    def from_dlpack(self, capsule):
        return capsule

    def shuffle(self, x, out, n, item_bytes, seed, method, device):
        _retable.shuffle(x, out, n, item_bytes, seed, method, "cpu")

    def shuffle_on_device(self, x, to, n, item_bytes, seed, method, stream):
        _retable.shuffle(_at(x, n * item_bytes), _at(to, n * item_bytes), n, item_bytes, seed, method, "cpu")


@pytest.fixture
def device(monkeypatch):
    """A CUDA device, or the host that plays one."""
    if retable.cuda_devices():
        return
    played = Played(_retable)
    modules = [_device, _quantiles, _shuffle, _tree_explainer]
    try:
        from retable import ensemble
        modules.append(ensemble)
    except ImportError:
        pass
    for module in modules:
        monkeypatch.setattr(module, "_retable", played)


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
    memory = _device._retable.DeviceMemory(before + max(1, values.nbytes))
    if not retable.cuda_devices():
        _at(memory.address + before, values.nbytes)[:] = values.reshape(-1).view(numpy.uint8)
    elif values.nbytes:
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
