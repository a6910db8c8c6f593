"""What an argument is: NumPy arrays, torch tensors and DLPack objects described by address, extents, strides, dtype, device and access.

An object is described without importing its library: torch is looked up only if the process has it.
"""
from __future__ import annotations

import ctypes
import sys
from typing import NamedTuple

import numpy as np

from .dtypes import BY_DLPACK, BY_NUMPY_NAME, BY_TORCH_NAME, DTYPES


class NotAnArray(TypeError):
    """The object is no array of any library that can be described; `str()` says what it is."""


class UnusableArray(ValueError):
    """An array that no kernel can take: `expected` and `actual` are texts for the one message of that call."""

    def __init__(self, expected, actual):
        super().__init__(expected, actual)
        self.expected = expected
        self.actual = actual


class Array(NamedTuple):
    """One described array.

    `pointer` is the address of element 0 (0 for no memory), `extents` and `strides` (in elements, of any sign) one item an axis,
    `dtype` a language dtype name, `device` "cpu" or "cuda:0" and the like. `owner` identifies the allocation where the library
    tells (else None). `keep` holds the memory for as long as the description is used.
    """

    pointer: int
    extents: tuple
    strides: tuple
    dtype: str
    device: str
    readonly: bool
    owner: object
    keep: object

    @property
    def itemsize(self) -> int:
        return DTYPES[self.dtype].itemsize

    @property
    def byte_strides(self) -> tuple:
        size = self.itemsize
        return tuple(stride * size for stride in self.strides)


def describe(value) -> Array:
    """The description of an array. Raises NotAnArray or UnusableArray."""
    if isinstance(value, np.ndarray):
        return _describe_numpy(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _describe_torch(torch, value)
    if hasattr(type(value), "__dlpack__"):
        return _describe_dlpack(value)
    raise NotAnArray(type(value).__name__)


def _describe_numpy(array) -> Array:
    dtype = array.dtype
    name = BY_NUMPY_NAME.get(dtype.name)
    if name is None:
        raise UnusableArray("an array of a language dtype", f"NumPy dtype {dtype}")
    if not dtype.isnative:
        raise UnusableArray(f"{name} in native byte order", f"dtype {dtype.str!r}")
    if isinstance(array, np.ma.MaskedArray):
        raise UnusableArray("a plain array", "a masked array")
    size = dtype.itemsize
    strides = []
    for extent, stride in zip(array.shape, array.strides):
        if stride % size and extent > 1:
            raise UnusableArray(f"strides that are multiples of {size} bytes", f"byte strides {array.strides}")
        strides.append(stride // size)
    pointer = array.__array_interface__["data"][0]
    if pointer % size and array.size:
        raise UnusableArray(f"{name} elements at an address that is a multiple of {size}", f"address {pointer:#x}")
    return Array(pointer, array.shape, tuple(strides), name, "cpu", not array.flags.writeable, numpy_owner(array), array)


def numpy_owner(array):
    """The identity of the allocation under a NumPy array: its outermost base."""
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return ("object", id(base))


def _describe_torch(torch, tensor) -> Array:
    try:
        return _describe_tensor(torch, tensor)
    except RuntimeError as error:  # tensors of tracers and transforms answer no question about memory
        raise UnusableArray("a tensor with memory", str(error).partition("\n")[0]) from None


def _describe_tensor(torch, tensor) -> Array:
    if tensor.is_nested:
        raise UnusableArray("a strided tensor", "a nested tensor")
    fakes = sys.modules.get("torch._subclasses.fake_tensor")
    if fakes is not None and isinstance(tensor, fakes.FakeTensor):
        raise UnusableArray("a tensor with memory", "a FakeTensor")
    if tensor.layout is not torch.strided:
        raise UnusableArray("a strided tensor", f"layout {tensor.layout}")
    name = BY_TORCH_NAME.get(str(tensor.dtype))
    if name is None:
        raise UnusableArray("a tensor of a language dtype", f"{tensor.dtype}")
    device = tensor.device
    if device.type not in ("cpu", "cuda", "mlu"):
        raise UnusableArray("a tensor with memory on a CPU or GPU", f"device {device}")
    if tensor.is_neg() or tensor.is_conj():
        raise UnusableArray("a tensor that holds its own values (use resolve_neg())", "a lazily negated view")
    owner = ("storage", tensor.untyped_storage().data_ptr())
    pointer = tensor.data_ptr()
    if not pointer and tensor.numel():
        raise UnusableArray("a tensor with memory", f"a {type(tensor).__name__} without")
    # Rank-zero and size-0 tensors report their strides like any other.
    name_of_device = "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"
    return Array(pointer, tuple(tensor.shape), tuple(tensor.stride()), name, name_of_device, False, owner, tensor)


def tensor_pointer(torch, tensor) -> int:
    """The address of element 0 of a plain strided tensor; 0 for one that `describe` has to judge."""
    try:
        return tensor.data_ptr() if tensor.layout is torch.strided and not tensor.is_nested else 0
    except RuntimeError:  # wrappers of transforms have no memory
        return 0


# DLPack device types: CPU, CUDA, CUDA pinned host, ROCm, ROCm pinned host, CUDA managed.
_DLPACK_DEVICES = {1: "cpu", 2: "cuda", 3: "cpu", 10: "cuda", 11: "cpu", 13: "cuda"}
_READ_ONLY_FLAG = 1


class _DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _DLVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_capsule_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is_valid.argtypes, _capsule_is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes, _capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _describe_dlpack(value) -> Array:
    """Reads the exported tensor and keeps the capsule, unconsumed: its own destructor releases the memory after the call."""
    kind = type(value).__name__
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 1))
        except TypeError:  # exporters older than DLPack 1.0 take no version
            capsule = value.__dlpack__()
    except Exception as error:  # the exporter's own refusal, of any type: it becomes the one message of this call
        raise UnusableArray("an object that exports DLPack", f"{kind}: {error}") from error
    readonly = False
    if _capsule_is_valid(capsule, b"dltensor_versioned"):
        versioned = _DLVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise UnusableArray("a DLPack 1.x capsule", f"version {versioned.major}.{versioned.minor}")
        readonly = bool(versioned.flags & _READ_ONLY_FLAG)
        tensor = versioned.tensor
    elif _capsule_is_valid(capsule, b"dltensor"):
        tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    else:
        raise UnusableArray("a DLPack capsule", f"{kind} exports something else")
    name = BY_DLPACK.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        raise UnusableArray("an array of a language dtype", f"DLPack type code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes")
    device = _DLPACK_DEVICES.get(tensor.device.device_type)
    if device is None:
        raise UnusableArray("memory of a CPU or GPU", f"DLPack device type {tensor.device.device_type}")
    if device != "cpu":
        device = f"{device}:{tensor.device.device_id}"
    extents = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim))
    else:
        strides = row_major(extents)
    pointer = (tensor.data or 0) + tensor.byte_offset
    return Array(pointer, extents, strides, name, device, readonly, None, (capsule, value))


def row_major(extents) -> tuple:
    """Strides in elements of a contiguous array of these extents."""
    strides, step = [], 1
    for extent in reversed(extents):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def allocate_like(like, extents, dtype: str):
    """A new array of `extents` and `dtype`: of torch, on the same device, if `like` is a tensor; else of NumPy for host memory.

    `like` is an array argument or None. Raises UnusableArray where no library at hand can allocate it.
    """
    try:
        return _allocated(like, extents, dtype)
    except ModuleNotFoundError:
        raise UnusableArray(f"the ml_dtypes package, which gives NumPy {dtype}", "not installed") from None
    except (MemoryError, RuntimeError, ValueError, OverflowError, TypeError) as error:  # as NumPy and torch say that memory is short
        if isinstance(error, UnusableArray):
            raise
        raise UnusableArray(f"memory for {dtype} {list(extents)}", str(error).partition("\n")[0] or "none") from None


def _allocated(like, extents, dtype):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(extents, dtype=torch_dtype(torch, dtype), device=like.device)
    if like is not None and not isinstance(like, np.ndarray):
        device = describe(like).device
        if device != "cpu":
            if torch is None:
                raise UnusableArray("torch, to allocate outputs on this device (or pass the outputs)", f"device {device}")
            return torch.empty(extents, dtype=torch_dtype(torch, dtype), device=device)
    return np.empty(extents, DTYPES[dtype].numpy_dtype())


def torch_dtype(torch, name):
    """torch's dtype of a language dtype. UnusableArray where this torch has none."""
    found = getattr(torch, DTYPES[name].torch, None)
    if found is None:
        raise UnusableArray(f"a torch with {DTYPES[name].torch}", f"torch {torch.__version__}")
    return found
