"""Arrays in the memory of a GPU: other packages', which are read where they lie, and `DeviceArray`, our answers."""

import math
import sys

import numpy

from . import _retable

_CUDA, _CUDA_MANAGED = 2, 13  # device types of DLPack
_LETTERS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # of NumPy, by DLPack's type codes
_LEGACY_STREAM = 1  # what both protocols call the default stream


def on_device(x):
    """Whether x is an array in the memory of a GPU."""
    if isinstance(x, numpy.ndarray):
        return False
    if hasattr(x, "__cuda_array_interface__"):
        return True
    asked = getattr(x, "__dlpack_device__", None)
    return asked is not None and not isinstance(x, type) and int(asked()[0]) in (_CUDA, _CUDA_MANAGED)


class View:
    """Somebody's row-major array in the memory of CUDA device 0.

    address : int
    shape : tuple of int
    dtype : numpy.dtype
    stream : int
        The stream behind whose work the array is there, and on which it is read: 0 for the default one.
    kept : object or None
        What keeps the memory until it has been read, where the array's package does not know of our stream.
    """

    def __init__(self, x, name, writes=False):
        why = _retable.why_no_cuda_device()
        if why:
            raise TypeError(f"{name} lies in GPU memory, and {why}. Give a host copy: {name}.get(), {name}.cpu()")
        self.kept = None
        if hasattr(x, "__cuda_array_interface__"):
            found = parse_interface(x.__cuda_array_interface__, name)
            self.stream = _stream_of(x, found["stream"])
        else:
            self.kept, found = _from_dlpack(x, name)
            self.stream = 0
        self.address, self.shape, self.dtype = found["address"], found["shape"], found["dtype"]
        if writes and found["read_only"]:
            raise ValueError(f"{name} is read-only")
        if not _is_row_major(self.shape, found["strides"], self.dtype.itemsize):
            raise ValueError(f"{name} lies in GPU memory and is not row-major: give cupy.ascontiguousarray({name}), "
                             f"{name}.contiguous()")
        if self.size:
            why = _retable.why_not_on_device(self.address)
            if why:
                raise ValueError(f"{name}: {why}")

    @property
    def size(self):
        return math.prod(self.shape)

    def to_numpy(self):
        return _to_numpy(self.address, self.shape, self.dtype, self.stream)


def _to_numpy(address, shape, dtype, stream):
    content = _retable.copy_to_host(address, math.prod(shape) * dtype.itemsize, stream)
    return content.view(dtype).reshape(shape)


def parse_interface(interface, name):
    """The content of a __cuda_array_interface__, checked."""
    try:
        shape = tuple(int(extent) for extent in interface["shape"])
        dtype = numpy.dtype(interface["typestr"])
        address, read_only = interface["data"]
        strides = interface.get("strides")
        strides = None if strides is None else tuple(int(step) for step in strides)
        version, stream, mask = int(interface["version"]), interface.get("stream"), interface.get("mask")
        address = int(address or 0)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{name} has a __cuda_array_interface__ that is none: {error!r}") from None
    if version < 2:
        raise ValueError(f"{name} has a __cuda_array_interface__ of version {version}: 2 and 3 are read")
    if mask is not None:
        raise ValueError(f"{name} has a mask: give an array without, missing values as NaN")
    if min(shape, default=0) < 0 or (strides is not None and len(strides) != len(shape)):
        raise ValueError(f"{name} has the shape {shape} and the strides {strides}")
    if dtype.hasobject or not dtype.isnative:
        raise TypeError(f"{name} has the dtype {dtype.str}: give numbers in this machine's byte order")
    if stream is not None and int(stream) == 0:
        raise ValueError(f"{name} names the stream 0, which __cuda_array_interface__ leaves open: the default "
                         "stream is 1, the thread's own 2")
    return {"address": address, "shape": shape, "dtype": dtype, "strides": strides,
            "read_only": bool(read_only), "stream": stream}


def _stream_of(x, named):
    """The stream that an array names; PyTorch's current one for a tensor, which names none."""
    torch = sys.modules.get("torch")
    if named is None and torch is not None and isinstance(x, torch.Tensor):
        return torch.cuda.current_stream(x.device).cuda_stream
    return 0 if named is None else int(named)


def _from_dlpack(x, name):
    """What keeps the array, and its content as parse_interface gives it."""
    try:
        capsule = x.__dlpack__(stream=_LEGACY_STREAM)
    except (TypeError, BufferError):  # read-only arrays have no form before version 1
        capsule = x.__dlpack__(stream=_LEGACY_STREAM, max_version=(1, 0))
    kept, address, shape, strides, code, bits, lanes, device, number = _retable.from_dlpack(capsule)
    if device not in (_CUDA, _CUDA_MANAGED) or number != 0:
        raise ValueError(f"{name} lies on DLPack's device {(device, number)}: this package works on CUDA device 0, "
                         "which CUDA_VISIBLE_DEVICES chooses")
    if lanes != 1 or code not in _LETTERS or bits % 8:
        raise TypeError(f"{name} has DLPack's type {(code, bits, lanes)}: give numbers that NumPy knows")
    dtype = numpy.dtype(f"{_LETTERS[code]}{bits // 8}")
    # What a version before 1 says nothing of: whether the array may be written.
    return kept, {"address": address, "shape": tuple(shape), "dtype": dtype, "read_only": True,
                  "strides": tuple(step * dtype.itemsize for step in strides)}


def _is_row_major(shape, strides, item_bytes):
    if strides is None or 0 in shape:
        return True
    step = item_bytes
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


def to_host(x, name):
    """x, in host memory where it lies in a GPU's; masked values become NaN."""
    if numpy.ma.isMaskedArray(x) and numpy.ma.is_masked(x):  # an array of pandas may have a mask too
        return x.astype(numpy.float64).filled(numpy.nan)
    return View(x, name).to_numpy() if on_device(x) else x


class DeviceArray:
    """An array in the memory of CUDA device 0: the answer to one that lies there.

    CuPy, PyTorch, Numba and JAX take it without a copy: ``cupy.asarray(a)``, ``torch.as_tensor(a)``,
    ``torch.from_dlpack(a)``, ``jax.dlpack.from_dlpack(a)``. Work that writes it may be on its way in the stream of
    the array that was given; both protocols say so to who reads it. The memory is free again when nobody refers to
    the array.

    Attributes
    ----------
    shape : tuple of int
    strides : tuple of int
        In bytes.
    dtype : numpy.dtype
    """

    def __init__(self, memory, stream, shape, dtype, strides=None, begin=0):
        self.shape, self.dtype = tuple(shape), numpy.dtype(dtype)
        if strides is None:
            strides = [self.dtype.itemsize * math.prod(self.shape[i + 1:]) for i in range(len(self.shape))]
        self.strides = tuple(strides)
        self._memory, self._stream, self._begin = memory, stream, begin

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self):
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, *arguments, **options):
        raise TypeError("a DeviceArray lies in GPU memory: to_numpy() copies it to the host")

    def of_shape(self, shape):
        """The same memory under another shape of as many numbers; for a row-major array."""
        if math.prod(shape) != self.size or not _is_row_major(self.shape, self.strides, self.dtype.itemsize):
            raise ValueError(f"{self!r} is no array of shape {tuple(shape)}")
        return DeviceArray(self._memory, self._stream, shape, self.dtype, begin=self._begin)

    def to_numpy(self):
        """A copy in host memory: numpy.ndarray. Waits for what writes the array."""
        self._memory.synchronize()
        content = _retable.copy_to_host(self._memory.address, self._memory.size, 0)
        return numpy.ndarray(self.shape, self.dtype, content, self._begin, self.strides)

    @property
    def __cuda_array_interface__(self):
        strides = None if _is_row_major(self.shape, self.strides, self.dtype.itemsize) else self.strides
        address = self._memory.address + self._begin if self.size else 0
        # A stream may be gone when its work is done.
        stream = None if self._memory.written() else self._stream or _LEGACY_STREAM
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (address, False), "strides": strides,
                "stream": stream, "version": 3}

    def __dlpack_device__(self):
        return _CUDA, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule. What `stream` (as DLPack numbers them) holds from here on comes behind what writes the
        array. BufferError for another device than CUDA's 0 or the host, and for copy=True on the device."""
        if dl_device is not None and tuple(map(int, dl_device)) == (1, 0):
            if copy is False:
                raise BufferError("an array in GPU memory is not the host's without a copy")
            return self.to_numpy().__dlpack__()
        if copy or (dl_device is not None and tuple(map(int, dl_device)) != (_CUDA, 0)):
            raise BufferError(f"dl_device={dl_device}, copy={copy}: the array is exported where it lies")
        if stream != -1:
            self._memory.wait_on(0 if stream in (None, _LEGACY_STREAM) else int(stream))
        letters = {letter: code for code, letter in _LETTERS.items()}
        item = self.dtype.itemsize
        if self.dtype.kind not in letters or any(step % item for step in self.strides):
            raise BufferError(f"DLPack has no form for {self!r}")
        return _retable.to_dlpack(self._memory, self._begin, list(self.shape), [step // item for step in self.strides],
                                  letters[self.dtype.kind], 8 * item)


def answer(view, dtype, numbers, write):
    """Memory for `numbers` of a dtype, which write(address, stream) has the view's stream write."""
    memory = _retable.DeviceMemory(numbers * numpy.dtype(dtype).itemsize)
    write(memory.address, view.stream)
    memory.written_on(view.stream)
    if view.kept is not None:  # whose package may use the memory again as soon as it is let go
        memory.synchronize()
    return memory
