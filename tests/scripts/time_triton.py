#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times Triton's compile of a W4A16 tile beside wavejit's generation of the same tile.

The kernel is a plain one: bf16 activations [M, K], int32 words of eight nibbles [N, K/8], bf16 scales
[N, K/G], the tile that wavejit_bench calls its flagship. Each sample is a new process without Triton's
cache, and what is printed is user CPU time: the whole process less one that only imports Triton.

Usage: time_triton.py [--target gfx1151] [--samples 3] [--emit PATH/TO/wavejit]
Exit status 77 (skipped) where there is no Triton; it comes from `pip install triton`.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile

N, K, GROUP, BM, BN, BK, WAVES = 19456, 2560, 32, 128, 64, 32, 8


def compile_once(target: str) -> None:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def w4a16(a, w, s, o, m, n: tl.constexpr, k: tl.constexpr, g: tl.constexpr,
              bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
        rows = tl.program_id(0) * bm + tl.arange(0, bm)
        columns = tl.program_id(1) * bn + tl.arange(0, bn)
        along = tl.arange(0, bk)
        inside = (rows < m)[:, None]
        total = tl.zeros((bm, bn), tl.float32)
        for at in range(0, k, bk):
            kk = at + along
            x = tl.load(a + rows[:, None] * k + kk[None, :], inside, 0.0)
            words = tl.load(w + columns[None, :] * (k // 8) + (kk // 8)[:, None])
            scale = tl.load(s + columns[None, :] * (k // g) + (kk // g)[:, None])
            nibbles = (words >> ((kk % 8) * 4)[:, None]) & 15
            total += tl.dot(x, ((nibbles - 8).to(tl.float32) * scale.to(tl.float32)).to(tl.bfloat16))
        tl.store(o + rows[:, None] * n + columns[None, :], total.to(tl.bfloat16), inside)

    constants = {"n": N, "k": K, "g": GROUP, "bm": BM, "bn": BN, "bk": BK}
    signature = {"a": "*bf16", "w": "*i32", "s": "*bf16", "o": "*bf16", "m": "i32"}
    signature |= {name: "constexpr" for name in constants}
    source = ASTSource(w4a16, signature, constexprs=constants)
    lanes = 64 if target.startswith("gfx9") else 32
    binary = triton.compile(source, target=GPUTarget("hip", target, lanes), options={"num_warps": WAVES})
    assert binary.asm["hsaco"]


def user_seconds(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def least(command: list[str], samples: int) -> float:
    times = []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as cache:
            times.append(user_seconds(command, os.environ | {"TRITON_CACHE_DIR": cache}))
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="gfx1151")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--emit", help="the wavejit command; its user CPU time is printed, too")
    parser.add_argument("--once", choices=["compile", "import"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        import triton
    except ImportError:
        print("skipped: there is no Triton (pip install triton)")
        return 77
    if arguments.once:
        if arguments.once == "compile":
            compile_once(arguments.target)
        return 0
    me = [sys.executable, __file__, "--target", arguments.target, "--once"]
    imported = least(me + ["import"], arguments.samples)
    compiled = least(me + ["compile"], arguments.samples)
    print(f"tile {BM}x{BN}x{BK}, {WAVES} waves, N {N}, K {K}, group {GROUP}, bf16, {arguments.target}; "
          f"user CPU time of a new process, the least of {arguments.samples}")
    print(f"  Triton {triton.__version__}: {1e3 * (compiled - imported):.0f} ms "
          f"(and {1e3 * imported:.0f} ms to import it)")
    if arguments.emit:
        command = [arguments.emit, "emit", "--n", str(N), "--k", str(K), "--group", str(GROUP),
                   "--tile", f"{BM},{BN},{BK}", "--waves", str(WAVES), "--target", arguments.target,
                   "-o", os.devnull]
        print(f"  wavejit: {1e3 * least(command, arguments.samples):.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
