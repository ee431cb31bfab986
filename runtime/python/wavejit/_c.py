# SPDX-License-Identifier: MIT
"""The C interface (wavejit.h) as ctypes sees it. Internal: use the package itself."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from typing import Optional

c = ctypes
ABI_VERSION = 1


class EngineOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("devices", c.c_char_p),
        ("cache_folder", c.c_char_p),
        ("cache_bytes", c.c_uint64),
        ("bundles", c.c_char_p),
        ("override_folder", c.c_char_p),
        ("dump_folder", c.c_char_p),
        ("threads", c.c_uint32),
        ("cache_lock_timeout_ms", c.c_uint32),
        ("log", c.c_void_p),
        ("log_user", c.c_void_p),
        ("log_level", c.c_int),
        ("ignore_environment", c.c_int32),
        ("skip_check", c.c_int32),
        ("tuning_database", c.c_char_p),
        ("bundle_paths", c.POINTER(c.c_char_p)),
        ("bundle_path_count", c.c_size_t),
    ]


class Problem(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("operation", c.c_int),
        ("activation", c.c_int),
        ("n", c.c_int64),
        ("k", c.c_int64),
        ("group", c.c_int64),
        ("zero_points", c.c_int),
        ("rounding", c.c_int),
        ("activation_stride", c.c_int64),
        ("weight_stride", c.c_int64),
        ("scale_stride", c.c_int64),
        ("zero_point_stride", c.c_int64),
        ("output_stride", c.c_int64),
        ("bias", c.c_int32),
        ("weight_type", c.c_int),
        ("batch", c.c_int64),
        ("groups", c.c_int64),
        ("scale_type", c.c_int),
        ("reserved", c.c_int32),
    ]


class Tensor(c.Structure):
    _fields_ = [
        ("address", c.c_uint64),
        ("bytes", c.c_uint64),
        ("type", c.c_int),
        ("rank", c.c_uint32),
        ("shape", c.c_int64 * 4),
        ("strides", c.c_int64 * 4),
    ]


class Arguments(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("activations", Tensor),
        ("weights", Tensor),
        ("scales", Tensor),
        ("zero_points", Tensor),
        ("bias", Tensor),
        ("output", Tensor),
        ("workspace", c.c_uint64),
        ("workspace_bytes", c.c_uint64),
        ("group_rows", Tensor),
    ]


class DeviceInfo(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("kind", c.c_char * 8),
        ("name", c.c_char * 256),
        ("target_id", c.c_char * 128),
        ("ordinal", c.c_int32),
        ("compute_units", c.c_uint32),
        ("wave_size", c.c_uint32),
        ("driver_version", c.c_int32),
        ("memory_bytes", c.c_uint64),
    ]


class HostTensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("bytes", c.c_uint64),
        ("type", c.c_int),
        ("rank", c.c_uint32),
        ("shape", c.c_int64 * 4),
        ("strides", c.c_int64 * 4),
    ]


class RepackRequest(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("format", c.c_int),
        ("declared", c.c_int),
        ("weights", HostTensor),
        ("scales", HostTensor),
        ("zero_points", HostTensor),
        ("g_idx", HostTensor),
        ("weight_shape", HostTensor),
        ("n", c.c_int64),
        ("k", c.c_int64),
        ("group", c.c_int64),
        ("scale_type", c.c_int),
        ("zero_points_wanted", c.c_int),
        ("weight_stride", c.c_int64),
        ("scale_stride", c.c_int64),
        ("zero_point_stride", c.c_int64),
        ("gathers_activations", c.c_int32),
        ("threads", c.c_uint32),
    ]


class RepackSizes(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("weight_bytes", c.c_uint64),
        ("scale_bytes", c.c_uint64),
        ("zero_point_bytes", c.c_uint64),
        ("weights_in_place", c.c_int32),
        ("scales_in_place", c.c_int32),
        ("zero_points_in_place", c.c_int32),
        ("scales_exact", c.c_int32),
        ("permutation_count", c.c_uint64),
    ]


LogFunction = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p)

_P = c.POINTER
_VOID = c.c_void_p
_SIGNATURES = {
    "wavejit_abi_version": (c.c_uint32, []),
    "wavejit_version": (c.c_char_p, []),
    "wavejit_build_id": (c.c_char_p, []),
    "wavejit_llvm_version": (c.c_char_p, []),
    "wavejit_status_name": (c.c_char_p, [c.c_int]),
    "wavejit_last_error": (c.c_char_p, []),
    "wavejit_last_error_field": (c.c_char_p, []),
    "wavejit_last_error_given": (c.c_char_p, []),
    "wavejit_last_error_allowed": (c.c_char_p, []),
    "wavejit_engine_create": (c.c_int, [_P(EngineOptions), _P(_VOID)]),
    "wavejit_engine_destroy": (None, [_VOID]),
    "wavejit_prepare": (c.c_int, [_VOID, _P(Problem), c.c_int64, c.c_int64, c.c_uint32, _P(_VOID)]),
    "wavejit_prepare_async": (c.c_int, [_VOID, _P(Problem), c.c_int64, c.c_int64, c.c_uint32, _P(_VOID)]),
    "wavejit_future_get": (c.c_int, [_VOID, c.c_int64, _P(_VOID)]),
    "wavejit_future_destroy": (None, [_VOID]),
    "wavejit_find": (c.c_int, [_VOID, _P(Problem), c.c_int64, c.c_int64, c.c_uint32, _P(_VOID)]),
    "wavejit_collect": (c.c_size_t, [_VOID]),
    "wavejit_counters": (c.c_size_t, [_VOID, c.c_char_p, c.c_size_t]),
    "wavejit_explain": (
        c.c_int,
        [_VOID, _P(Problem), c.c_int64, c.c_int64, c.c_uint32, c.c_char_p, c.c_size_t, _P(c.c_size_t)],
    ),
    "wavejit_plan_retain": (_VOID, [_VOID]),
    "wavejit_plan_release": (None, [_VOID]),
    "wavejit_plan_workspace": (c.c_int, [_VOID, c.c_int64, _P(c.c_uint64)]),
    "wavejit_plan_launch": (c.c_int, [_VOID, _VOID, _P(Arguments)]),
    "wavejit_plan_describe": (c.c_size_t, [_VOID, c.c_char_p, c.c_size_t]),
    "wavejit_device_count": (c.c_uint32, [_VOID]),
    "wavejit_device_describe": (c.c_int, [_VOID, c.c_uint32, _P(DeviceInfo)]),
    "wavejit_device_allocate": (c.c_int, [_VOID, c.c_uint32, c.c_uint64, _P(c.c_uint64)]),
    "wavejit_device_release": (c.c_int, [_VOID, c.c_uint32, c.c_uint64]),
    "wavejit_device_copy_in": (c.c_int, [_VOID, c.c_uint32, c.c_uint64, _VOID, c.c_uint64]),
    "wavejit_device_copy_out": (c.c_int, [_VOID, c.c_uint32, _VOID, c.c_uint64, c.c_uint64]),
    "wavejit_device_stream_create": (c.c_int, [_VOID, c.c_uint32, _P(_VOID)]),
    "wavejit_device_stream_destroy": (c.c_int, [_VOID, c.c_uint32, _VOID]),
    "wavejit_device_synchronise": (c.c_int, [_VOID, c.c_uint32, _VOID]),
    "wavejit_repack_plan": (c.c_int, [_P(RepackRequest), _P(RepackSizes)]),
    "wavejit_repack": (
        c.c_int,
        [_P(RepackRequest), _VOID, c.c_uint64, _VOID, c.c_uint64, _VOID, c.c_uint64, _VOID, c.c_uint64],
    ),
}


def _candidates() -> list[str]:
    """WAVEJIT_LIBRARY, an installed tree around this file (share/wavejit/python), the loader's own."""
    named = os.environ.get("WAVEJIT_LIBRARY")
    if named:
        return [named]
    found = []
    for parent in pathlib.Path(__file__).resolve().parents:
        for pattern in ("lib/libwavejit.so.0", "lib/*/libwavejit.so.0", "build/*/runtime/capi/libwavejit.so.0"):
            found += [str(path) for path in sorted(parent.glob(pattern))]
        if found:
            break
    return found + ["libwavejit.so.0"]


_library: Optional[c.CDLL] = None


def library() -> c.CDLL:
    """Loads libwavejit once. OSError names every place that was tried."""
    global _library
    if _library is not None:
        return _library
    tried = []
    for path in _candidates():
        try:
            lib = c.CDLL(path)
        except OSError as error:
            tried.append(str(error))
            continue
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = arguments
        version = lib.wavejit_abi_version()
        if version != ABI_VERSION:
            raise OSError(f"{path} has ABI version {version}, but this module needs {ABI_VERSION}")
        _library = lib
        return lib
    raise OSError("libwavejit was not found (set WAVEJIT_LIBRARY to its path): " + "; ".join(tried))
