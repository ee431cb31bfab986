# SPDX-License-Identifier: MIT
"""wavejit from Python: quantised matrix products on AMD GPUs, or on the built-in simulator.

    import wavejit
    engine = wavejit.Engine("sim:gfx1151")
    problem = wavejit.Problem(n=256, k=512, group=32)
    plan = engine.prepare(problem, 1, 64)
    plan.launch(activations=x, weights=w, scales=s, output=out, stream=stream)

Tensors are given as `wavejit.Tensor` (address, shape, strides, type), as anything with `data_ptr()` (torch), or,
on the simulator, as `wavejit.Buffer` made from numpy arrays. Needs no compiler and nothing but the standard
library; numpy only where arrays are passed.
"""

from __future__ import annotations

import ctypes
import enum
import json
import os
from typing import Any, Callable, Optional, Sequence, Union

from . import _c

__all__ = [
    "Buffer", "Engine", "Error", "Future", "GgufType", "LogLevel", "Plan", "Problem", "Repacked", "Tensor", "Type",
    "ZeroPoints", "build_id", "repack", "version",
]


_Path = Union[str, "os.PathLike[str]"]


class Type(enum.IntEnum):
    bf16 = 0
    f16 = 1
    f32 = 2
    i32 = 3
    u8 = 4
    i64 = 5

    @property
    def bytes(self) -> int:
        return {Type.f32: 4, Type.i32: 4, Type.u8: 1, Type.i64: 8}.get(self, 2)


class GgufType(enum.IntEnum):
    """Formats of GGUF weights; a row is as the file has it."""

    q4_k = 0
    q5_k = 1
    q6_k = 2
    q8_0 = 3
    q4_0 = 4


class ZeroPoints(enum.IntEnum):
    symmetric = 0
    packed = 1
    additive = 2


class LogLevel(enum.IntEnum):
    debug = 0
    info = 1
    warning = 2


class Error(RuntimeError):
    """A failure of wavejit. `code` is its stable name ("not_prepared"); field, given and allowed may be empty."""

    def __init__(self, status: int):
        lib = _c.library()
        self.status = status
        self.code = lib.wavejit_status_name(status).decode()
        self.field = lib.wavejit_last_error_field().decode(errors="replace")
        self.given = lib.wavejit_last_error_given().decode(errors="replace")
        self.allowed = lib.wavejit_last_error_allowed().decode(errors="replace")
        super().__init__(f"{self.code}: {lib.wavejit_last_error().decode(errors='replace')}")


def _check(status: int) -> None:
    if status != 0:
        raise Error(status)


def _text(call: Callable[[Any, int], int]) -> str:
    """Text of a function that says how many bytes it needs."""
    needed = call(None, 0)
    while True:
        buffer = ctypes.create_string_buffer(needed)
        now = call(buffer, needed)
        if now <= needed:
            return buffer.value.decode(errors="replace")
        needed = now


def version() -> str:
    return _c.library().wavejit_version().decode()


def build_id() -> str:
    return _c.library().wavejit_build_id().decode()


class Problem:
    """output[M, N] = activations[M, K] x dequantised(weights[N, K])^T (+ bias). Strides in elements; 0 = dense.

    With `weight_type` the weights are those of a GGUF file, bytes [N, bytes of a row]; the output is f32, a launch
    needs a workspace and no scales, and every tensor is dense.
    """

    def __init__(self, n: int, k: int, group: int = 128, activation: Type = Type.bf16,
                 zero_points: ZeroPoints = ZeroPoints.symmetric, bias: bool = False, nearest: bool = False,
                 activation_stride: int = 0, weight_stride: int = 0, scale_stride: int = 0,
                 zero_point_stride: int = 0, output_stride: int = 0, weight_type: Optional[GgufType] = None):
        self.activation = Type(activation)
        self._c = _c.Problem(
            struct_size=ctypes.sizeof(_c.Problem), operation=0 if weight_type is None else 1,
            activation=int(activation), n=n, k=k, group=group,
            zero_points=int(zero_points), rounding=int(nearest), activation_stride=activation_stride,
            weight_stride=weight_stride, scale_stride=scale_stride, zero_point_stride=zero_point_stride,
            output_stride=output_stride, bias=int(bias), weight_type=int(weight_type or 0))

    @classmethod
    def int4(cls, n: int, k: int, group: int = 128, activation: Type = Type.bf16, zeros: bool = False,
             scale_type: Type = Type.bf16, batch: int = 1, groups: Optional[int] = None) -> "Problem":
        """Signed row-major int4 weights on CDNA: `batch` products side by side, or one product per group of rows
        when `groups` says how many (a launch then takes `group_rows`, int64 [groups] in device memory). Weights are
        passed as int32 [.., N, K/8], scales and zeros as [.., K/group, N] of `scale_type`."""
        if batch < 1:  # in C, 0 stands for what is not set
            raise ValueError(f"batch is {batch}, but must be at least 1")
        problem = cls(n, k, group, activation, ZeroPoints.additive if zeros else ZeroPoints.symmetric)
        problem._c.operation = 2 if groups is None else 3
        problem._c.batch, problem._c.groups = batch, groups or 0
        problem._c.scale_type = int(scale_type)
        return problem


class Tensor:
    """A tensor in device memory. `strides` in elements; None = dense. `bytes` defaults to what the shape spans."""

    def __init__(self, address: int, shape: Sequence[int], type: Type,  # noqa: A002 - the field's name
                 strides: Optional[Sequence[int]] = None, bytes: Optional[int] = None):  # noqa: A002
        if not 1 <= len(shape) <= 4:
            raise ValueError(f"a tensor has {len(shape)} dimensions, but must have 1 to 4")
        if strides is not None and len(strides) != len(shape):
            raise ValueError(f"{len(strides)} strides for {len(shape)} dimensions")
        self.address, self.shape, self.type = int(address), tuple(shape), Type(type)
        self.strides = None if strides is None else tuple(strides)
        if bytes is None:
            steps = self.strides or _dense(self.shape)
            empty = any(extent == 0 for extent in self.shape)
            last = 0 if empty else sum((extent - 1) * step for extent, step in zip(self.shape, steps)) + 1
            bytes = last * self.type.bytes  # noqa: A001
        self.bytes = int(bytes)

    def _as_c(self) -> _c.Tensor:
        t = _c.Tensor(address=self.address, bytes=self.bytes, type=int(self.type), rank=len(self.shape))
        t.shape[:len(self.shape)] = self.shape
        if self.strides is not None:
            t.strides[:len(self.shape)] = self.strides
        return t


def _dense(shape: Sequence[int]) -> tuple[int, ...]:
    steps = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        steps[i] = steps[i + 1] * shape[i + 1]
    return tuple(steps)


_TORCH_TYPES = {"torch.bfloat16": Type.bf16, "torch.float16": Type.f16, "torch.float32": Type.f32,
                "torch.int32": Type.i32, "torch.uint8": Type.u8,
                "torch.int64": Type.i64}


def _tensor(given: Any) -> _c.Tensor:
    if given is None:
        return _c.Tensor()
    if isinstance(given, Buffer):
        given = given.tensor
    if isinstance(given, Tensor):
        return given._as_c()
    if hasattr(given, "data_ptr"):
        name = str(given.dtype)
        if name not in _TORCH_TYPES:
            raise TypeError(f"a tensor of {name}; wavejit takes {', '.join(_TORCH_TYPES)}")
        return Tensor(given.data_ptr(), tuple(given.shape), _TORCH_TYPES[name], tuple(given.stride()))._as_c()
    raise TypeError(f"{type(given).__name__} is no tensor: give wavejit.Tensor, wavejit.Buffer or a torch tensor")


class Buffer:
    """Memory of an engine's device that holds a numpy array's bytes. For the simulator, tests and examples."""

    def __init__(self, engine: "Engine", array: Any, type: Optional[Type] = None, device: int = 0):  # noqa: A002
        import numpy

        array = numpy.ascontiguousarray(array)
        if type is None:
            kinds = {"float16": Type.f16, "float32": Type.f32, "int32": Type.i32, "uint32": Type.i32, "uint8": Type.u8,
                     "int64": Type.i64}
            if array.dtype.name not in kinds:
                raise TypeError(f"an array of {array.dtype.name} needs type=; bf16 comes as uint16 with Type.bf16")
            type = kinds[array.dtype.name]  # noqa: A001
        if array.dtype.itemsize != Type(type).bytes:
            raise TypeError(f"{array.dtype.name} has {array.dtype.itemsize} bytes, {Type(type).name} needs "
                            f"{Type(type).bytes}")
        self._engine, self._device, self._dtype, self._shape = engine, device, array.dtype, array.shape
        address = ctypes.c_uint64()
        _check(engine._lib.wavejit_device_allocate(engine._handle, device, max(array.nbytes, 1),
                                                   ctypes.byref(address)))
        self._address: Optional[int] = address.value
        _check(engine._lib.wavejit_device_copy_in(engine._handle, device, self._address,
                                                  array.ctypes.data_as(ctypes.c_void_p), array.nbytes))
        self.tensor = Tensor(self._address, array.shape or (1,), Type(type), bytes=array.nbytes)

    def numpy(self) -> Any:
        """The bytes as they are now; synchronise the stream first."""
        import numpy

        array = numpy.empty(self._shape, self._dtype)
        _check(self._engine._lib.wavejit_device_copy_out(self._engine._handle, self._device,
                                                         array.ctypes.data_as(ctypes.c_void_p), self._address,
                                                         array.nbytes))
        return array

    def release(self) -> None:
        if self._address is not None and self._engine._handle:
            self._engine._lib.wavejit_device_release(self._engine._handle, self._device, self._address)
        self._address = None

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None:
            self.release()


class Plan:
    """Kernels that are ready to launch for a range of M. Keeps them loaded."""

    def __init__(self, lib: ctypes.CDLL, handle: int):
        self._lib, self._handle = lib, handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.wavejit_plan_release(self._handle)
            self._handle = 0

    def workspace_bytes(self, m: int) -> int:
        size = ctypes.c_uint64()
        _check(self._lib.wavejit_plan_workspace(self._handle, m, ctypes.byref(size)))
        return size.value

    def describe(self) -> dict[str, Any]:
        return json.loads(_text(lambda b, n: self._lib.wavejit_plan_describe(self._handle, b, n)))

    def launch(self, *, activations: Any, weights: Any, output: Any, scales: Any = None, zero_points: Any = None,
               bias: Any = None, group_rows: Any = None, workspace: int = 0, workspace_bytes: int = 0, stream: Optional[int] = None) -> None:
        """Enqueues on `stream` (an address: torch.cuda.current_stream().cuda_stream). Keep the tensors alive.

        `workspace`: the address, a multiple of 16, of as many bytes as workspace_bytes(m) says, when it says some.
        """
        arguments = _c.Arguments(
            struct_size=ctypes.sizeof(_c.Arguments), activations=_tensor(activations), weights=_tensor(weights),
            scales=_tensor(scales), zero_points=_tensor(zero_points), bias=_tensor(bias), output=_tensor(output),
            workspace=workspace, workspace_bytes=workspace_bytes, group_rows=_tensor(group_rows))
        _check(self._lib.wavejit_plan_launch(self._handle, stream, ctypes.byref(arguments)))


class Future:
    """A plan that is being prepared in the background."""

    def __init__(self, lib: ctypes.CDLL, handle: int):
        self._lib, self._handle = lib, handle

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.wavejit_future_destroy(self._handle)
            self._handle = 0

    def result(self, timeout: Optional[float] = None) -> Plan:
        """Raises Error with code "timed_out", or what prepare would have raised."""
        plan = ctypes.c_void_p()
        milliseconds = -1 if timeout is None else int(min(max(timeout, 0) * 1000, 2**63 - 1))
        _check(self._lib.wavejit_future_get(self._handle, milliseconds, ctypes.byref(plan)))
        return Plan(self._lib, plan.value or 0)


class Engine:
    """Compiles, finds and loads kernels. `devices`: "hip", "hip:1", "sim:gfx1151", several with commas; None: what
    WAVEJIT_DEVICE says, else "auto", the first GPU. Without a GPU that is an error (code "no_device"): only "sim"
    simulates. Paths may be os.PathLike.

    After a fork (multiprocessing's start method of that name) a child's calls on its parent's engine raise an Error
    that says so; it makes an engine of its own, which on HIP needs the start method "spawn"."""

    def __init__(self, devices: Optional[str] = None, *, cache_folder: Optional[_Path] = None, cache_bytes: int = 0,
                 bundles: Sequence[_Path] = (), override_folder: Optional[_Path] = None,
                 dump_folder: Optional[_Path] = None, threads: int = 0, tuning_database: Optional[_Path] = None,
                 log: Optional[Callable[[LogLevel, str], None]] = None, log_level: LogLevel = LogLevel.info,
                 environment: bool = True):
        self._lib = _c.library()
        self._handle: int = 0

        def forward(_user: Any, level: int, text: bytes) -> None:
            if log is not None:
                log(LogLevel(level), text.decode(errors="replace"))

        self._log = _c.LogFunction(forward)  # must live as long as the engine
        def path(given: Optional[_Path]) -> Optional[bytes]:
            return None if given is None else os.fsencode(given)

        if isinstance(bundles, (str, bytes, os.PathLike)):
            raise TypeError("bundles is one path, but must be a sequence of paths")
        paths = (ctypes.c_char_p * len(bundles))(*(os.fsencode(bundle) for bundle in bundles))
        options = _c.EngineOptions(
            struct_size=ctypes.sizeof(_c.EngineOptions), devices=None if devices is None else devices.encode(),
            cache_folder=path(cache_folder), cache_bytes=cache_bytes,
            bundle_paths=paths, bundle_path_count=len(bundles), override_folder=path(override_folder),
            dump_folder=path(dump_folder), threads=threads,
            log=ctypes.cast(self._log, ctypes.c_void_p) if log is not None else None, log_level=int(log_level),
            ignore_environment=0 if environment else 1, tuning_database=path(tuning_database))
        handle = ctypes.c_void_p()
        _check(self._lib.wavejit_engine_create(ctypes.byref(options), ctypes.byref(handle)))
        self._handle = handle.value or 0

    def close(self) -> None:
        if self._handle:
            self._lib.wavejit_engine_destroy(self._handle)
            self._handle = 0

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", 0):
            self.close()

    def prepare(self, problem: Problem, m_first: int, m_last: Optional[int] = None, device: int = 0) -> Plan:
        plan = ctypes.c_void_p()
        _check(self._lib.wavejit_prepare(self._handle, ctypes.byref(problem._c), m_first, m_last or m_first, device,
                                         ctypes.byref(plan)))
        return Plan(self._lib, plan.value or 0)

    def prepare_async(self, problem: Problem, m_first: int, m_last: Optional[int] = None, device: int = 0) -> Future:
        future = ctypes.c_void_p()
        _check(self._lib.wavejit_prepare_async(self._handle, ctypes.byref(problem._c), m_first, m_last or m_first,
                                               device, ctypes.byref(future)))
        return Future(self._lib, future.value or 0)

    def find(self, problem: Problem, m_first: int, m_last: Optional[int] = None, device: int = 0) -> Plan:
        plan = ctypes.c_void_p()
        _check(self._lib.wavejit_find(self._handle, ctypes.byref(problem._c), m_first, m_last or m_first, device,
                                      ctypes.byref(plan)))
        return Plan(self._lib, plan.value or 0)

    def explain(self, problem: Problem, m_first: int, m_last: Optional[int] = None, device: int = 0) -> list[str]:
        needed = ctypes.c_size_t()

        def call(buffer: Any, size: int) -> int:
            _check(self._lib.wavejit_explain(self._handle, ctypes.byref(problem._c), m_first, m_last or m_first,
                                             device, buffer, size, ctypes.byref(needed)))
            return needed.value

        return _text(call).splitlines()

    def collect(self) -> int:
        return self._lib.wavejit_collect(self._handle)

    def counters(self) -> dict[str, int]:
        text = _text(lambda b, n: self._lib.wavejit_counters(self._handle, b, n))
        return {name: int(value) for name, value in (line.split() for line in text.splitlines())}

    def devices(self) -> list[dict[str, Any]]:
        found = []
        for i in range(self._lib.wavejit_device_count(self._handle)):
            info = _c.DeviceInfo(struct_size=ctypes.sizeof(_c.DeviceInfo))
            _check(self._lib.wavejit_device_describe(self._handle, i, ctypes.byref(info)))
            found.append({"kind": info.kind.decode(), "name": info.name.decode(), "target_id": info.target_id.decode(),
                          "ordinal": info.ordinal, "compute_units": info.compute_units, "wave_size": info.wave_size,
                          "driver_version": info.driver_version, "memory_bytes": info.memory_bytes})
        return found

    def buffer(self, array: Any, type: Optional[Type] = None, device: int = 0) -> Buffer:  # noqa: A002
        return Buffer(self, array, type, device)

    def synchronise(self, stream: Optional[int] = None, device: int = 0) -> None:
        _check(self._lib.wavejit_device_synchronise(self._handle, device, stream))


class Repacked:
    """Arrays in the kernels' layouts; zero_points and permutation are None where there are none."""

    def __init__(self, weights: Any, scales: Any, zero_points: Any, permutation: Any):
        self.weights, self.scales, self.zero_points, self.permutation = weights, scales, zero_points, permutation


_FORMATS = {"awq": 0, "gptq": 1, "gptq_v2": 2, "compressed_tensors": 3, "row_major": 4, "mslk": 5}
_HOST_TYPES = {"uint8": 0, "int8": 1, "int32": 2, "uint32": 2, "int64": 3, "float16": 4, "uint16": 5, "float32": 6}


def _host(array: Any) -> _c.HostTensor:
    if array is None:
        return _c.HostTensor()
    if array.dtype.name not in _HOST_TYPES:
        raise TypeError(f"an array of {array.dtype.name}; repack takes {', '.join(_HOST_TYPES)} (uint16 = bf16)")
    t = _c.HostTensor(data=array.ctypes.data, bytes=array.nbytes, type=_HOST_TYPES[array.dtype.name],
                      rank=array.ndim)
    t.shape[:array.ndim] = array.shape
    return t


def repack(format: str, *, n: int, k: int, group: int, weights: Any, scales: Any,  # noqa: A002
           zero_points: Any = None, g_idx: Any = None, weight_shape: Any = None, asymmetric: bool = False,
           scale_type: Type = Type.bf16, gathers_activations: bool = False, threads: int = 0) -> Repacked:
    """Checkpoint arrays (numpy; bf16 as uint16) into the layouts that kernels read. `format`: awq, gptq, gptq_v2,
    compressed_tensors, row_major, mslk. Scales come back as float16, or as uint16 holding bf16."""
    import numpy

    if format not in _FORMATS:
        raise ValueError(f"format is {format}, but must be one of {', '.join(_FORMATS)}")
    arrays = [None if a is None else numpy.ascontiguousarray(a)
              for a in (weights, scales, zero_points, g_idx, weight_shape)]
    kind = int(ZeroPoints.packed if asymmetric else ZeroPoints.symmetric)
    request = _c.RepackRequest(
        struct_size=ctypes.sizeof(_c.RepackRequest), format=_FORMATS[format], declared=kind,
        weights=_host(arrays[0]), scales=_host(arrays[1]), zero_points=_host(arrays[2]), g_idx=_host(arrays[3]),
        weight_shape=_host(arrays[4]), n=n, k=k, group=group, scale_type=int(scale_type), zero_points_wanted=kind,
        gathers_activations=int(gathers_activations), threads=threads)
    lib = _c.library()
    sizes = _c.RepackSizes(struct_size=ctypes.sizeof(_c.RepackSizes))
    _check(lib.wavejit_repack_plan(ctypes.byref(request), ctypes.byref(sizes)))
    groups = 1 if group == -1 else k // group
    out_weights = numpy.empty((n, (k + 7) // 8), numpy.int32)
    out_scales = numpy.empty((n, groups), numpy.float16 if scale_type == Type.f16 else numpy.uint16)
    out_zeros = numpy.empty(((n + 7) // 8, groups), numpy.int32) if sizes.zero_point_bytes else None
    order = numpy.empty(k, numpy.int32) if sizes.permutation_count else None

    def pointer(array: Any) -> tuple[Optional[int], int]:
        return (None, 0) if array is None else (array.ctypes.data, array.nbytes)

    _check(lib.wavejit_repack(ctypes.byref(request), *pointer(out_weights), *pointer(out_scales),
                              *pointer(out_zeros), None if order is None else order.ctypes.data,
                              sizes.permutation_count))
    return Repacked(out_weights, out_scales, out_zeros, order)
