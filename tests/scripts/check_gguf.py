#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values of 256 elements of Q4_K, Q5_K, Q6_K, Q8_0 and Q4_0, and GGUF files, by the `gguf` Python package (pip).

Usage: check_gguf.py FILE            compare FILE with what the package says
       check_gguf.py --write FILE    write it anew
       check_gguf.py --model WAVEJIT [MODEL.gguf]
                                     compare what the command WAVEJIT reads of a file with what the package reads:
                                     names, types, shapes, sizes, and the values of tensors that it runs; without a
                                     file, of one that the package writes

tests/data/oracle/kquant_gguf.txt was written so; the oracle's unit test compares oracle/kquant with it. A line
is the type, the superblock's bytes in hex, and its 256 values as hex f32 bits. Needs numpy.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGUFReader, GGUFWriter, quants
from gguf.constants import GGMLQuantizationType as Kind

# type, bytes of 256 elements, where the f16 scales are
BLOCKS = {
    "q4_k": (Kind.Q4_K, 144, (0, 2)),
    "q5_k": (Kind.Q5_K, 176, (0, 2)),
    "q6_k": (Kind.Q6_K, 210, (208,)),
    "q8_0": (Kind.Q8_0, 272, range(0, 272, 34)),
    "q4_0": (Kind.Q4_0, 144, range(0, 144, 18)),
}


def lines():
    random = np.random.default_rng(20)
    for name, (kind, size, halves) in BLOCKS.items():
        for _ in range(3):
            block = random.integers(0, 256, size, dtype=np.uint8)
            for at in halves:
                value = np.float16(random.uniform(-0.02, 0.02))
                block[at : at + 2] = np.frombuffer(value.tobytes(), dtype=np.uint8)
            values = quants.dequantize(block, kind).astype("<f4").reshape(256)
            yield f"{name} {block.tobytes().hex()} {values.astype('>f4').tobytes().hex()}\n"


def random_blocks(random, name, rows, blocks):
    """rows x (blocks of 256 elements) with scales of a sensible size."""
    _, size, halves = BLOCKS[name]
    raw = random.integers(0, 256, (rows, blocks, size), dtype=np.uint8)
    for at in halves:
        scale = random.uniform(-0.02, 0.02, (rows, blocks)).astype("<f2")
        raw[:, :, at : at + 2] = scale[..., None].view(np.uint8)
    return raw.reshape(rows, blocks * size)


def write_model(path):
    random = np.random.default_rng(7)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "", "bcd"])
    writer.add_array("numbers", [1, 2, 3])
    for index, (name, (kind, _, _)) in enumerate(BLOCKS.items()):
        writer.add_tensor(f"blk.0.{name}.weight", random_blocks(random, name, 5, 3 + index), raw_dtype=kind)
    experts = np.stack([random_blocks(random, "q6_k", 4, 1) for _ in range(3)])
    writer.add_tensor("blk.0.ffn_up_exps.weight", experts, raw_dtype=Kind.Q6_K)
    writer.add_tensor("output_norm.weight", random.standard_normal(256, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def command(*arguments):
    ran = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {ran.returncode}\n{ran.stderr}")
    return json.loads(ran.stdout)


def differences(wavejit, path):
    ours = command(wavejit, "model", path, "--json")["tensors"]
    theirs = GGUFReader(path).tensors
    if len(ours) != len(theirs):
        yield f"{len(ours)} tensors, for the package {len(theirs)}"
    ran = set()
    for our, their in zip(ours, theirs):
        said = (our["name"], our["type"], our["shape"], our["stored_bytes"])
        wanted = (their.name, their.tensor_type.name.lower(), their.shape.tolist(), int(their.n_bytes))
        if said != wanted:
            yield f"{said}, for the package {wanted}"
        # One tensor of each type and shape is enough: running takes seconds.
        key = (said[1], tuple(said[2]))
        if said[1] in BLOCKS and our["kernel"] != "none" and key not in ran:
            ran.add(key)
            yield from value_differences(wavejit, path, their)


def value_differences(wavejit, path, tensor):
    report = command(wavejit, "run", "--gguf", path, "--tensor", tensor.name, "--tensor-rows", 16, "--json")
    if not report["ok"]:
        yield f"{tensor.name}: {report['reason']}"
    matrix = tensor.data.reshape(-1, tensor.data.shape[-1])
    for row in report["rows"]:
        values = quants.dequantize(matrix[row["row"]], tensor.tensor_type).astype(np.float64).reshape(-1)
        places = np.arange(1, values.size + 1)
        for ours, theirs, size in ((row["sum"], values.sum(), np.abs(values).sum()),
                                   (row["weighted_sum"], values @ places, np.abs(values) @ places)):
            # The package computes d * scale and its products in f32.
            if abs(ours - theirs) > 1e-5 * size:
                yield f"{tensor.name} row {row['row']}: {ours}, for the package {theirs}"


def check_model(wavejit, path):
    found = list(differences(wavejit, path))
    print("\n".join(found) if found else f"{path}: same")
    return 1 if found else 0


def main():
    if sys.argv[1] == "--model":
        if len(sys.argv) > 3:
            return check_model(sys.argv[2], sys.argv[3])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "written.gguf"
            write_model(path)
            return check_model(sys.argv[2], path)
    write = sys.argv[1] == "--write"
    text = "".join(lines())
    path = sys.argv[-1]
    if write:
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return 0
    with open(path, encoding="ascii") as golden:
        same = golden.read() == text
    print("same" if same else "different")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
