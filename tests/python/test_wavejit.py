#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python module on the simulator. The reference is numpy, written from the layouts' definition."""

import ctypes
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtime" / "python"))
import wavejit  # noqa: E402
from wavejit import _c  # noqa: E402


def to_bf16(values: numpy.ndarray) -> numpy.ndarray:
    """Round to nearest even, as uint16."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def from_bf16(bits: numpy.ndarray) -> numpy.ndarray:
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def shuffle(nibbles: numpy.ndarray) -> numpy.ndarray:
    """[N, K] -> int32 [N, K/8]; nibbles low to high hold K offsets 0,2,4,6,1,3,5,7."""
    n, k = nibbles.shape
    eight = nibbles.reshape(n, k // 8, 8)[:, :, [0, 2, 4, 6, 1, 3, 5, 7]].astype(numpy.uint32)
    return (eight << (4 * numpy.arange(8, dtype=numpy.uint32))).sum(axis=2, dtype=numpy.uint32).view(numpy.int32)


def _in_child(engine, plan, buffer, results) -> None:
    said = []
    problem = wavejit.Problem(n=48, k=32, group=32)
    for call in (lambda: engine.prepare(problem, 1), lambda: engine.prepare_async(problem, 1).result(),
                 engine.synchronise, buffer.numpy):
        try:
            call()
            said.append("no error")
        except wavejit.Error as error:
            said.append("fork" if error.code == "no_device" and "fork" in str(error) else str(error))
    del plan, buffer
    engine.close()
    with wavejit.Engine("sim", cache_folder="", environment=False) as own:
        own.prepare(problem, 1)
        own.synchronise()
    results.put(said + ["own engine"])


_WITH_FRAMEWORK = """
import ctypes, sys
import numpy, wavejit
hip = ctypes.CDLL(sys.argv[1])
stream = ctypes.c_void_p()
assert hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
engine = wavejit.Engine("hip", cache_folder="")
plan = engine.prepare(wavejit.Problem(n=16, k=32, group=32), 1)
bf16 = wavejit.Type.bf16
half = lambda rows, columns: engine.buffer(numpy.zeros((rows, columns), numpy.uint16), bf16)
tensors = {"activations": half(1, 32), "weights": engine.buffer(numpy.zeros((16, 4), numpy.int32)),
           "scales": half(16, 1), "output": half(1, 16)}
plan.launch(**tensors, stream=stream.value)
engine.synchronise(stream.value)
print(engine.devices()[0]["driver_version"])
"""


class Wavejit(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = wavejit.Engine("sim:gfx1151", cache_folder="", environment=False)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()

    def tensors(self, m: int, n: int, k: int, group: int):
        random = numpy.random.default_rng(7)
        # Small integers and powers of two: every product and sum is exact, so is the reference.
        x = random.integers(-2, 3, (m, k)).astype(numpy.float32)
        q = random.integers(0, 16, (n, k)).astype(numpy.uint8)
        s = numpy.full((n, k // group), 0.5, numpy.float32)
        reference = x @ ((q.astype(numpy.float32) - 8) * 0.5).T
        return x, q, s, reference

    def test_launch_matches_numpy(self) -> None:
        m, n, k, group = 5, 48, 128, 32
        x, q, s, reference = self.tensors(m, n, k, group)
        plan = self.engine.prepare(wavejit.Problem(n=n, k=k, group=group), 1, 16)
        self.assertEqual(plan.workspace_bytes(m), 0)
        bf16 = wavejit.Type.bf16
        activations = self.engine.buffer(to_bf16(x), bf16)
        weights = self.engine.buffer(shuffle(q))
        scales = self.engine.buffer(to_bf16(s), bf16)
        output = self.engine.buffer(numpy.zeros((m, n), numpy.uint16), bf16)
        plan.launch(activations=activations, weights=weights, scales=scales, output=output)
        self.engine.synchronise()
        numpy.testing.assert_array_equal(from_bf16(output.numpy()), from_bf16(to_bf16(reference)))
        described = plan.describe()
        self.assertEqual(described["device"], "gfx1151")
        self.assertGreaterEqual(len(described["variants"]), 1)

    def test_gguf_weights_match_numpy(self) -> None:
        m, n, k = 11, 20, 512  # more rows than one launch takes
        random = numpy.random.default_rng(9)
        # Integers up to 127, with a 127 in every block of 32: they quantise to themselves with a scale of 1, and
        # every product and sum is exact.
        x = random.integers(-127, 128, (m, k)).astype(numpy.float32)
        x[:, ::32] = 127
        q = random.integers(-128, 128, (n, k)).astype(numpy.int8)
        scales = numpy.float16(2.0) ** random.integers(-3, 4, (n, k // 32))
        # Q8_0: an f16 scale and 32 int8.
        blocks = numpy.concatenate([scales.astype(numpy.float16)[:, :, None].view(numpy.uint8),
                                    q.reshape(n, k // 32, 32).view(numpy.uint8)], axis=2).reshape(n, -1)
        reference = x @ (q.reshape(n, k // 32, 32) * scales[:, :, None].astype(numpy.float32)).reshape(n, k).T
        problem = wavejit.Problem(n=n, k=k, activation=wavejit.Type.f32, weight_type=wavejit.GgufType.q8_0)
        plan = self.engine.prepare(problem, 1, 16)
        size = plan.workspace_bytes(m)
        self.assertEqual(size, 8 * k // 256 * 320)
        workspace = self.engine.buffer(numpy.zeros(size, numpy.uint8))
        activations, weights = self.engine.buffer(x), self.engine.buffer(blocks)
        output = self.engine.buffer(numpy.zeros((m, n), numpy.float32))
        with self.assertRaises(wavejit.Error) as caught:
            plan.launch(activations=activations, weights=weights, output=output)
        self.assertEqual(caught.exception.field, "workspace_bytes")
        plan.launch(activations=activations, weights=weights, output=output, workspace=workspace.tensor.address,
                    workspace_bytes=size)
        self.engine.synchronise()
        numpy.testing.assert_array_equal(output.numpy(), reference)
        self.assertEqual([len(v["stages"]) for v in plan.describe()["variants"]], [2] * 8)

    def test_grouped_int4_matches_numpy(self) -> None:
        rows, n, k, group = [0, 3, 2], 32, 128, 64
        random = numpy.random.default_rng(11)
        m = sum(rows) + 1  # one row that belongs to no group
        x = random.integers(-2, 3, (m, k)).astype(numpy.float32)
        q = random.integers(-8, 8, (len(rows), n, k))
        s = 2.0 ** random.integers(-2, 2, (len(rows), k // group, n)).astype(numpy.float32)
        z = random.integers(-1, 2, (len(rows), k // group, n)).astype(numpy.float32)
        w = q * s.repeat(group, axis=1).transpose(0, 2, 1) + z.repeat(group, axis=1).transpose(0, 2, 1)
        reference = numpy.full((m, n), 7.0, numpy.float32)
        first = 0
        for g, count in enumerate(rows):
            reference[first:first + count] = x[first:first + count] @ w[g].T
            first += count
        codes = (q & 15).astype(numpy.uint8)
        packed = (codes[:, :, 0::2] | codes[:, :, 1::2] << 4).view(numpy.int32)
        bf16 = wavejit.Type.bf16
        with wavejit.Engine("sim:gfx942", cache_folder="", environment=False) as engine:
            plan = engine.prepare(wavejit.Problem.int4(n, k, group, zeros=True, groups=len(rows)), 1, m)
            tensors = {"activations": engine.buffer(to_bf16(x), bf16), "weights": engine.buffer(packed),
                       "scales": engine.buffer(to_bf16(s), bf16), "zero_points": engine.buffer(to_bf16(z), bf16),
                       "output": engine.buffer(to_bf16(numpy.full((m, n), 7.0)), bf16),
                       "group_rows": engine.buffer(numpy.array(rows, numpy.int64))}
            plan.launch(**tensors)
            engine.synchronise()
            found = from_bf16(tensors["output"].numpy())
        numpy.testing.assert_array_equal(found, from_bf16(to_bf16(reference)))

    def test_errors_are_exceptions_that_name_the_field(self) -> None:
        with self.assertRaises(wavejit.Error) as caught:
            self.engine.prepare(wavejit.Problem(n=48, k=100, group=32), 1)
        self.assertEqual(caught.exception.code, "invalid_problem")
        self.assertEqual(caught.exception.field, "k")
        with self.assertRaises(wavejit.Error) as caught:
            self.engine.find(wavejit.Problem(n=48, k=3200, group=32), 1)
        self.assertEqual(caught.exception.code, "not_prepared")
        plan = self.engine.prepare(wavejit.Problem(n=16, k=32, group=32), 1)
        with self.assertRaises(wavejit.Error) as caught:
            plan.launch(activations=wavejit.Tensor(0, (1, 32), wavejit.Type.bf16), weights=None, scales=None,
                        output=None)
        self.assertEqual(caught.exception.code, "invalid_argument")
        self.assertEqual(caught.exception.field, "activations")
        with self.assertRaises(TypeError):
            plan.launch(activations=3, weights=None, scales=None, output=None)
        with self.assertRaises(wavejit.Error) as caught:
            wavejit.Engine("cuda")
        self.assertIn("cuda", str(caught.exception))

    def test_fields_that_mean_nothing_are_refused_by_name(self) -> None:
        # What means what to which operation: the comments of wavejit_problem in runtime/capi/wavejit.h.
        z, int4, gguf = wavejit.ZeroPoints, wavejit.Problem.int4, wavejit.GgufType.q8_0
        dense = dict(n=64, k=256)
        cases = [("zero_points", wavejit.Problem(**dense, zero_points=z.additive)),
                 ("zero_point_stride", wavejit.Problem(**dense, zero_point_stride=2))]
        cases += [(name, wavejit.Problem(**dense, weight_type=gguf, **{name: value})) for name, value in
                  [("group", 64), ("zero_points", z.packed), ("zero_points", z.additive), ("bias", True),
                   ("scale_stride", 64), ("zero_point_stride", 2), ("activation_stride", 512),
                   ("weight_stride", 512), ("output_stride", 128)]]
        cases += [("rounding", wavejit.Problem(**dense, weight_type=gguf, nearest=True)),
                  ("batch", int4(**dense, groups=3, batch=2)), ("batch", int4(**dense, groups=0, batch=4))]
        for operation in (dict(), dict(groups=3)):
            for name, value in [("zero_points", int(z.packed)), ("zero_point_stride", 64), ("bias", 1),
                                ("weight_type", int(gguf)), ("scale_type", 3)]:
                problem = int4(**dense, **operation)
                setattr(problem._c, name, value)
                cases.append((name, problem))
        for field in ("operation", "activation", "zero_points", "rounding", "weight_type", "scale_type", "reserved"):
            for value in (99, -1):
                problem = wavejit.Problem(**dense)
                setattr(problem._c, field, value)
                cases.append((field, problem))
        engine = wavejit.Engine("sim:gfx942", cache_folder="")
        for field, problem in cases:
            for ask in (engine.prepare, lambda p, m: engine.prepare_async(p, m).result(timeout=60)):
                with self.subTest(field=field), self.assertRaises(wavejit.Error) as caught:
                    ask(problem, 1)
                self.assertEqual(caught.exception.field, field)
        for batch in (0, -1):
            with self.assertRaisesRegex(ValueError, f"batch is {batch}, "):
                int4(**dense, batch=batch)
        engine.prepare(int4(**dense, batch=1), 1)

    def test_background_preparation(self) -> None:
        problem = wavejit.Problem(n=32, k=96, group=32)
        plan = self.engine.prepare_async(problem, 1, 16).result(timeout=60)
        self.assertEqual(plan.workspace_bytes(3), 0)
        self.engine.find(problem, 1, 16)
        self.assertIn("in memory", self.engine.explain(problem, 1, 16)[0])
        self.assertGreater(self.engine.counters()["compiles"], 0)

    def test_repack_then_launch(self) -> None:
        m, n, k, group = 3, 16, 64, 32
        x, q, s, reference = self.tensors(m, n, k, group)
        # GPTQ: word (r, n) holds K 8r..8r+7 in order; symmetric zero points are stored as 7.
        words = (q.T.reshape(k // 8, 8, n).astype(numpy.uint32)
                 << (4 * numpy.arange(8, dtype=numpy.uint32))[None, :, None]).sum(axis=1, dtype=numpy.uint32)
        packed = wavejit.repack("gptq", n=n, k=k, group=group, weights=words.view(numpy.int32),
                                scales=s.T.astype(numpy.float16),
                                zero_points=numpy.full((k // group, n // 8), 0x77777777, numpy.int32))
        numpy.testing.assert_array_equal(packed.weights, shuffle(q))
        numpy.testing.assert_array_equal(packed.scales, to_bf16(s))
        self.assertIsNone(packed.zero_points)
        plan = self.engine.prepare(wavejit.Problem(n=n, k=k, group=group), m)
        bf16 = wavejit.Type.bf16
        buffers = [self.engine.buffer(to_bf16(x), bf16), self.engine.buffer(packed.weights),
                   self.engine.buffer(packed.scales, bf16),
                   self.engine.buffer(numpy.zeros((m, n), numpy.uint16), bf16)]
        plan.launch(activations=buffers[0], weights=buffers[1], scales=buffers[2], output=buffers[3])
        self.engine.synchronise()
        numpy.testing.assert_array_equal(from_bf16(buffers[3].numpy()), from_bf16(to_bf16(reference)))

    def test_devices_log_and_version(self) -> None:
        lines = []
        with wavejit.Engine("sim:gfx1151,sim:gfx1100", cache_folder="", environment=False,
                            log=lambda level, text: lines.append((level, text)),
                            log_level=wavejit.LogLevel.debug) as engine:
            self.assertEqual([d["target_id"] for d in engine.devices()], ["gfx1151", "gfx1100"])
            engine.prepare(wavejit.Problem(n=16, k=32, group=32), 1, device=1)
        self.assertTrue(any("compiled" in text for _, text in lines))
        self.assertRegex(wavejit.version(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(len(wavejit.build_id()), 32)

    def test_devices_left_unset_are_the_environments(self) -> None:
        """As in C: what the program sets wins, else the variable, else a GPU or an error that names "sim"."""
        environment = {"WAVEJIT_DEVICE": "sim:gfx1100", "WAVEJIT_CACHE_DIR": "off"}
        with unittest.mock.patch.dict(os.environ, environment):
            with wavejit.Engine() as engine:
                self.assertEqual(engine.devices()[0]["target_id"], "gfx1100")
            with wavejit.Engine("sim:gfx1151") as engine:
                self.assertEqual(engine.devices()[0]["target_id"], "gfx1151")
        for variables in ({"WAVEJIT_DEVICE": "hip"}, {"WAVEJIT_DEVICE": "auto"}, {"WAVEJIT_DEVICE": ""}):
            with unittest.mock.patch.dict(os.environ, {**variables, "WAVEJIT_HIP_LIBRARY": "/nowhere/hip.so"}):
                with self.assertRaises(wavejit.Error) as caught:
                    wavejit.Engine()
                self.assertEqual(caught.exception.code, "no_device")
                if variables["WAVEJIT_DEVICE"] != "hip":
                    self.assertIn('"sim"', str(caught.exception))

    def test_paths_left_unset_are_the_environments(self) -> None:
        problem = wavejit.Problem(n=16, k=32, group=32)
        with tempfile.TemporaryDirectory() as folder:
            environment = {"WAVEJIT_DUMP_DIR": folder, "WAVEJIT_CACHE_DIR": "off"}
            with unittest.mock.patch.dict(os.environ, environment):
                with wavejit.Engine("sim") as engine:
                    engine.prepare(problem, 1)
                self.assertTrue(list(pathlib.Path(folder).glob("*.s")))
                other = pathlib.Path(folder) / "mine"
                with wavejit.Engine("sim", dump_folder=other) as engine:
                    engine.prepare(problem, 1)
                self.assertTrue(list(other.glob("*.s")))

    def test_bundle_paths_may_have_colons(self) -> None:
        with self.assertRaises(TypeError):
            wavejit.Engine("sim", bundles="one.wjb")
        with self.assertRaises(wavejit.Error) as caught:
            wavejit.Engine("sim", cache_folder="", bundles=["/no:where/a.wjb"], environment=False)
        self.assertIn("/no:where/a.wjb", str(caught.exception))

    def test_the_frameworks_hip_runtime_is_used(self) -> None:
        """A framework has mapped version 6 (a simulated driver) from a folder of its own and made a stream; version 7
        is on the loader's path. A launch on that stream works, as a stream of the other driver's would not."""
        library = os.environ.get("WAVEJIT_LIBRARY")
        if not library:
            self.skipTest("WAVEJIT_LIBRARY names no build with the simulated drivers beside it")
        drivers = pathlib.Path(library).resolve().parents[2] / "tests" / "fake_hip"
        with tempfile.TemporaryDirectory() as folder:
            carried = pathlib.Path(folder) / "libamdhip64-3f2a.so"
            shutil.copy(drivers / "6" / "libamdhip64.so.6", carried)
            environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers / "7"), "PYTHONPATH": sys.path[0]}
            environment.pop("WAVEJIT_HIP_LIBRARY", None)
            ran = subprocess.run([sys.executable, "-c", _WITH_FRAMEWORK, str(carried)], env=environment,
                                 capture_output=True, text=True, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout.strip()), (0, "60241134"), ran.stderr)

    def test_a_forked_child_is_told_so(self) -> None:
        """multiprocessing by fork: the parent's engine refuses, one of the child's own works, the parent notices
        nothing. A hang is cut off."""
        plan = self.engine.prepare(wavejit.Problem(n=16, k=32, group=32), 1, 16)
        buffer = self.engine.buffer(numpy.zeros(4, numpy.uint8))
        fork = multiprocessing.get_context("fork")
        results = fork.Queue()
        worker = fork.Process(target=_in_child, args=(self.engine, plan, buffer, results))
        worker.start()
        try:
            self.assertEqual(results.get(timeout=60), ["fork"] * 4 + ["own engine"])
            worker.join(60)
            self.assertEqual(worker.exitcode, 0)
        finally:
            worker.kill()
        self.engine.synchronise()
        numpy.testing.assert_array_equal(buffer.numpy(), numpy.zeros(4, numpy.uint8))

    def test_structures_have_the_headers_sizes(self) -> None:
        """By another road: gcc's idea of the sizes, from the header itself."""
        header = (pathlib.Path(__file__).resolve().parents[2] / "runtime" / "capi" / "wavejit.h")
        names = {"wavejit_engine_options": _c.EngineOptions, "wavejit_problem": _c.Problem,
                 "wavejit_tensor": _c.Tensor, "wavejit_arguments": _c.Arguments,
                 "wavejit_device_info": _c.DeviceInfo, "wavejit_host_tensor": _c.HostTensor,
                 "wavejit_repack_request": _c.RepackRequest, "wavejit_repack_sizes": _c.RepackSizes}
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "sizes.c"
            lines = "".join(f'  printf("%zu\\n", sizeof({name}));\n' for name in names)
            source.write_text(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{\n{lines}  return 0;\n}}\n')
            subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", str(source), "-o",
                            folder + "/sizes"], check=True)
            sizes = subprocess.run([folder + "/sizes"], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual([int(s) for s in sizes], [ctypes.sizeof(t) for t in names.values()])


if __name__ == "__main__":
    unittest.main()
