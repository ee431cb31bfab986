#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values of 256 elements of Q4_K, Q5_K, Q6_K, Q8_0 and Q4_0 from the `gguf` Python package (pip).

Usage: check_gguf.py FILE            compare FILE with what the package says
       check_gguf.py --write FILE    write it anew

tests/data/oracle/kquant_gguf.txt was written so; the oracle's unit test compares oracle/kquant with it. A line
is the type, the superblock's bytes in hex, and its 256 values as hex f32 bits. Needs numpy.
"""
import sys

import numpy as np
from gguf import quants
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


def main():
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
