#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our assembly text against other builds of LLVM: they disassemble the objects, and must read what we wrote.

    check_disassembly.py [--wavejit PROGRAM] [--library NAME=FILE ...] [--targets T,...]

Emits every kind of kernel for every target that serves it (.s and code object), and disassembles each object's
.text with each library through LLVM's C interface. Compared instruction by instruction with the text of the .s;
a branch by the place that it goes to. Without --library: Debian's LLVM 22 and those that the Python packages
rocm-llvm-python and rocm-bindings-compiler hold, where they are installed. Prints a row for each library:
objects, instructions, differences, and each kind of difference once. The exit status is 0 when there is none, 77
when no library but Debian's is there.
"""
import argparse
import collections
import ctypes
import glob
import importlib.util
import json
import multiprocessing
import multiprocessing.pool
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

QUANTISED = ("q4_k", "q5_k", "q6_k", "q8_0", "q4_0")


def requests():
    """Flags of `wavejit emit` by name, one kernel kind or option after another."""
    shape = "--n 576 --k 2048 --group 32"
    for act in ("bf16", "f16"):
        for extra in ("", "--zero-points", "--bias", "--rounding nearest", "--zero-points --bias --rounding nearest"):
            for m in (1, 3, 8, 16, 48, 128, 2048):
                yield f"--op w4a16 {shape} --act {act} --m {m} {extra}"
    for technique in ("dequant", "pipeline", "descriptors", "banks", "scalar-offsets"):
        yield f"--op w4a16 {shape} --m 2048 --without {technique}"
    yield f"--op w4a16 --n 77 --k 192 --group 64 --m 130 --act bf16"
    for zeros in ("", "--zeros"):
        for scale in ("bf16", "f16", "f32"):
            for m in (1, 16, 64, 512):
                yield f"--op int4_gemm --n 896 --k 2048 --group 128 --m {m} --scale-type {scale} {zeros}"
        yield f"--op int4_gemm --n 256 --k 512 --batch 3 --m 4 {zeros}"
        for m in (6, 300):
            yield f"--op int4_grouped --n 256 --k 512 --groups 4 --m {m} {zeros}"
    for kind in QUANTISED:
        for act in ("bf16", "f16", "f32"):
            for m in (1, 2, 5, 8):
                yield f"--op kquant --type {kind} --n 512 --k 2048 --act {act} --m {m}"


def emit(program, target, flags, folder, number):
    """The (.s, object) of each stage; none where the target does not serve the request."""
    for stage in range(8):
        stem = folder / f"{number}-{stage}"
        done = subprocess.run([program, "emit", "--target", target, "--stage", str(stage), *flags.split(),
                               "-o", f"{stem}.s", "--object", f"{stem}.hsaco", "--json"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return
        yield stem


def section(image, wanted):
    """(address, bytes) of a section of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    rows = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    for name, _, _, address, offset, length in rows:
        at = rows[names][4] + name
        if image[at:image.index(b"\0", at)].decode() == wanted:
            return address, image[offset:offset + length]
    raise ValueError(f"no section {wanted}")


def stand_in(library, name):
    """Loads an empty `name`, a library of ROCm's own (compression) that no Python package holds and that
    disassembling does not call."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    needed = re.findall(r" U (\w+)@+(AMDROCM_SYSDEPS\S+)", symbols.stdout)
    with tempfile.TemporaryDirectory() as folder:
        script, built = pathlib.Path(folder, "versions"), pathlib.Path(folder, name)
        script.write_text("".join(f"{v} {{ global: *; }};" for v in sorted({v for _, v in needed})))
        code = "".join(f"void {symbol}(void) {{ __builtin_trap(); }}" for symbol, _ in needed)
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-fno-builtin", "-x", "c", "-", "-o", built,
                        f"-Wl,--version-script={script},-soname,{name}"], input=code, text=True, check=True)
        ctypes.CDLL(str(built))


def load(library):
    while True:
        try:
            return ctypes.CDLL(library)
        except OSError as error:
            missing = re.match(r"(librocm_sysdeps_\S+): cannot open", str(error))
            if not missing:
                raise
            stand_in(library, missing[1])


class Disassembler:
    """LLVM's C interface in one shared library."""

    def __init__(self, library):
        self.llvm = load(library)
        for part in ("TargetInfo", "Target", "TargetMC", "Disassembler"):
            getattr(self.llvm, f"LLVMInitializeAMDGPU{part}")()
        self.llvm.LLVMCreateDisasmCPUFeatures.restype = ctypes.c_void_p
        self.llvm.LLVMCreateDisasmCPUFeatures.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_void_p, ctypes.c_int] + \
            [ctypes.c_void_p] * 2
        self.llvm.LLVMDisasmInstruction.restype = ctypes.c_size_t
        self.llvm.LLVMDisasmInstruction.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64,
                                                    ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
        self.contexts = {}
        version = [ctypes.c_uint() for _ in range(3)]
        self.llvm.LLVMGetVersion(*map(ctypes.byref, version))
        self.version = ".".join(str(v.value) for v in version)

    def read(self, target, features, code, address):
        """[(address, text)] of all of `code`."""
        key = target, features
        if key not in self.contexts:
            self.contexts[key] = self.llvm.LLVMCreateDisasmCPUFeatures(b"amdgcn-amd-amdhsa", target.encode(),
                                                                       features.encode(), None, 0, None, None)
        if not self.contexts[key]:
            raise ValueError(f"does not know {target}")
        found, at, text = [], 0, ctypes.create_string_buffer(512)
        while at < len(code):
            size = self.llvm.LLVMDisasmInstruction(self.contexts[key], code[at:at + 64], min(64, len(code) - at),
                                                   address + at, text, len(text))
            found.append((address + at, text.value.decode() if size else f"(unknown {code[at:at + 4].hex()})"))
            at += size or 4
        return found


def written(assembly):
    """Lines of a .s that are instructions, in order, with the labels that stand before each; and its wave size."""
    lines, labels = [], {}
    for line in assembly.splitlines():
        line = line.split("//")[0].split(";")[0].strip()
        if re.match(r"\.section|\.rodata|\.amdgpu_metadata", line) and ".text" not in line:
            break
        if re.fullmatch(r"[.\w$]+:", line):
            labels[line[:-1]] = len(lines)
        elif line and not line.startswith("."):
            lines.append(" ".join(line.split()))
    return lines, labels, 32 if re.search(r"\.amdhsa_wavefront_size32 1", assembly) else 64


def plain(text):
    """One spelling for what LLVM writes in several ways: the encoding's suffix, which our text leaves to the
    assembler where there is no choice, numbers, and an alias that LLVM 23 prints."""
    text = text.split(";")[0].strip()
    text = re.sub(r"(?<=\w)_(e32|e64|dpp|e64_dpp|sdwa)(?=\s|$)", "", text)
    if "_f32" in text.split()[0]:
        text = re.sub(r"-?[0124]\.[05]\b", lambda m: hex(struct.unpack("<I", struct.pack("<f", float(m[0])))[0]), text)
    mask = 0xffff if text.startswith("s_barrier") else 0xffffffff
    text = re.sub(r"(?<![\w.])(-?0x[0-9a-f]+|-?\d+)(?![\w.\[\]:])", lambda m: str(int(m[1], 0) & mask), text)
    text = re.sub(r"^(s_load\w* .*), null$", r"\1, 0", text)
    text = re.sub(r"^v_dot4_i32_i8 (.*)$", r"v_dot4_i32_iu8 \1 neg_lo:[1,1,0]", text)
    return re.sub(r"\s*,\s*", ",", " ".join(text.split()))


def compare(disassembler, target, stem):
    """(instructions, [(ours, theirs)]) of one object."""
    lines, labels, wave = written(pathlib.Path(f"{stem}.s").read_text())
    address, code = section(pathlib.Path(f"{stem}.hsaco").read_bytes(), ".text")
    features = "" if target.startswith("gfx9") else f"+wavefrontsize{wave},-real-true16"
    read = disassembler.read(target, features, code, address)
    differences = []
    for i, ours in enumerate(lines):
        if i >= len(read):
            differences.append((ours, "(nothing)"))
            break
        at, theirs = read[i]
        branch = re.fullmatch(r"(s_c?branch\w*) (\S+)", ours)
        if branch and branch[2] in labels:
            goal = read[labels[branch[2]]][0]
            ours = f"{branch[1]} {(goal - at - 4) // 4 & 0xffff}"
        if plain(ours) != plain(theirs):
            differences.append((plain(ours), plain(theirs)))
    # What follows is padding that nobody executes.
    rest = [text for _, text in read[len(lines):] if text.split()[0] not in ("s_code_end", "s_nop")]
    differences += [("(nothing)", text) for text in rest]
    return len(lines), differences


def judge(work):
    """A row of the table: one library over all objects. In a process of its own: LLVMs do not mix."""
    library, objects = work
    disassembler = Disassembler(library)
    instructions, kinds = 0, collections.Counter()
    for target, stem in objects:
        try:
            count, differences = compare(disassembler, target, stem)
        except ValueError as error:
            count, differences = 0, [(target, str(error))]
        instructions += count
        for ours, theirs in differences:
            kinds[(target, ours.split()[0], ours, theirs)] += 1
    return disassembler.version, instructions, kinds


def installed_libraries():
    libraries = {"LLVM 22": (glob.glob("/usr/lib/*/libLLVM*22.1*") + glob.glob("/usr/lib/llvm-22/lib/libLLVM.so*"))[:1]}
    for name, package, file in (("rocm-llvm-python", "rocm.llvm", "librocmllvm.so"),
                                ("rocm-bindings-compiler", "rocm.bindings.llvm", "libLLVM.so")):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            spec = None
        folders = spec.submodule_search_locations if spec else []
        libraries[name] = [f for folder in folders for f in glob.glob(os.path.join(folder, file))]
    return {name: files[0] for name, files in libraries.items() if files}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wavejit", default="build/release/tools/wavejit")
    parser.add_argument("--library", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--targets", help="with commas; all by default")
    args = parser.parse_args()
    libraries = dict(item.split("=", 1) for item in args.library) or installed_libraries()
    others = [name for name in libraries if name != "LLVM 22"]
    if not others:
        print("skipped: neither rocm-llvm-python nor rocm-bindings-compiler is installed for this Python "
              "(tools/check --peers)")
        return 77
    known = json.loads(subprocess.run([args.wavejit, "info", "--json"], capture_output=True, check=True).stdout)
    targets = args.targets.split(",") if args.targets else [t["name"] for t in known["targets"]]
    with tempfile.TemporaryDirectory() as scratch:
        jobs = [(target, flags, number) for target in targets for number, flags in enumerate(requests())]
        with multiprocessing.pool.ThreadPool() as pool:
            def make(job):
                target, flags, number = job
                folder = pathlib.Path(scratch, target)
                folder.mkdir(exist_ok=True)
                return [(target, stem) for stem in emit(args.wavejit, target, flags, folder, number)]
            objects = [o for made in pool.map(make, jobs) for o in made]
        by_target = collections.Counter(target for target, _ in objects)
        print("objects:", ", ".join(f"{t} {by_target[t]}" for t in targets))
        with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
            rows = pool.map(judge, [(path, objects) for path in libraries.values()], chunksize=1)
    failed = False
    for (name, path), (version, instructions, kinds) in zip(libraries.items(), rows):
        print(f"{name:24} LLVM {version:8} {len(objects)} objects, {instructions} instructions, {sum(kinds.values())} differences"
              f"  ({path})")
        shown = set()
        for (target, mnemonic, ours, theirs), count in kinds.most_common():
            if (mnemonic, theirs.split()[0]) in shown:
                continue
            shown.add((mnemonic, theirs.split()[0]))
            print(f"    {count:6} {target}: {ours}  |  {theirs}")
        failed |= bool(kinds)
    return 1 if failed or not all(by_target[t] for t in targets) else 0


if __name__ == "__main__":
    sys.exit(main())
