#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every include of the repository goes down its floors, never up or sideways.

The floors are those of CONTRIBUTING.md: tools > runtime > templates > generator, and inside the
generator lower > model > passes > ir > isa > target > support. Beyond the order:
  * the simulator, the checker and the model judge the passes, so they include none of them;
  * the oracle judges everything, so it includes nothing but itself;
  * LLVM's headers are known to generator/lower only, HIP's to runtime/device/hip only;
  * generator/ and templates/ know neither threads nor the file system;
  * JSON is parsed in one place of the product, whose limits hold for all of it.

Usage: check_floors.py [ROOT]      exit status 1 and one line per violation
       check_floors.py --self-test
"""
import pathlib
import re
import sys
import tempfile

# Low to high. A file may include its own floor and those before it. The longest prefix counts.
FLOORS = [
    "generator/support",
    "generator/target",
    "generator/isa",
    "generator/ir",
    "generator/passes",
    "generator/model",
    "generator/lower",
    "templates",
    "runtime",
    "tests/oracle",
    "tests/harness",
    "tools",
    "tests",  # test programs: nobody includes them, they may include everything
]

# (who, what it must not include, why). Prefixes of repository paths or of <system> headers.
FORBIDDEN = [
    ("runtime/device/sim", "generator/passes", "the simulator judges the passes"),
    ("runtime/device/sim", "generator/model", "the simulator is independent of the model"),
    ("runtime/device/sim", "templates", "the simulator runs anybody's code object"),
    ("runtime/check", "generator/passes", "the checker judges the passes"),
    ("runtime/check", "generator/ir", "the checker has its own def/use and control flow"),
    ("runtime/check", "generator/model", "the checker is independent of the model"),
    ("runtime/check", "runtime/device", "the checker and the simulator are two opinions"),
    ("runtime/check", "templates", "the checker takes anybody's code object"),
    ("generator/model", "generator/passes", "the model judges the passes"),
    ("tests/oracle", "generator", "the oracle shares no code with what it judges"),
    ("tests/oracle", "templates", "the oracle shares no code with what it judges"),
    ("tests/oracle", "runtime", "the oracle shares no code with what it judges"),
    ("tests/oracle", "tools", "the oracle shares no code with what it judges"),
    ("generator", "thread", "the generator knows no thread"),
    ("generator", "filesystem", "the generator knows no file system"),
    ("generator", "fstream", "the generator knows no file system"),
    ("templates", "thread", "templates know no thread"),
    ("templates", "filesystem", "templates know no file system"),
    ("templates", "fstream", "templates know no file system"),
]
# What only one folder may include.
ONLY = [("llvm/", "generator/lower"), ("lld/", "generator/lower"), ("hip/", "runtime/device/hip")]
# Calls that only one file of the product may make: (pattern, file, why).
CALLS = [
    (re.compile(r"\b[jJ]son::parse\("), "runtime/support/json.hpp", "JSON from outside is parsed within limits"),
]
PRODUCT = ("generator", "templates", "runtime", "tools")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".hpp", ".cpp", ".h", ".def", ".inc"}


def under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix.rstrip("/") + "/")


def floor_of(path: str):
    matches = [f for f in FLOORS if under(path, f)]
    return max(matches, key=len) if matches else None


def violations_of(path: str, quoted: bool, included: str):
    """Yields a reason for each rule that `path` including `included` breaks."""
    for prefix, owner in ONLY:
        if not quoted and included.startswith(prefix) and not under(path, owner):
            yield f"only {owner} may include {prefix}*"
    for who, what, why in FORBIDDEN:
        if under(path, who) and under(included, what):
            yield why
    if not quoted:
        return
    mine, theirs = floor_of(path), floor_of(included)
    if theirs is None:
        yield "is not a path from the repository root"
    elif FLOORS.index(theirs) > FLOORS.index(mine):
        yield f"{mine} is below {theirs}"


def check(root: pathlib.Path):
    found, files = [], 0
    for top in sorted({f.split("/")[0] for f in FLOORS}):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SUFFIXES or not file.is_file() or under(path, "tests/data"):
                continue
            files += 1
            if floor_of(path) is None:
                found.append(f"{path}: belongs to no floor")
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if path.startswith(PRODUCT):
                    found += [
                        f"{path}:{number}: {why}: only {owner} may"
                        for pattern, owner, why in CALLS
                        if path != owner and pattern.search(line)
                    ]
                match = INCLUDE.match(line)
                if not match:
                    continue
                quoted, included = match.group(1) == '"', match.group(2)
                if quoted and not (root / included).is_file():
                    found.append(f"{path}:{number}: {included}: no such file from the repository root")
                    continue
                found += [f"{path}:{number}: {included}: {why}" for why in violations_of(path, quoted, included)]
    return found, files


def self_test() -> int:
    """Each bad include must be found where it stands, and a good tree must pass."""
    good = {
        "generator/support/error.hpp": "#include <string>\n",
        "generator/isa/a.hpp": '#include "generator/support/error.hpp"\n',
        "generator/passes/p.hpp": '#include "generator/isa/a.hpp"\n',
        "generator/lower/l.hpp": "#include <llvm/MC/MCContext.h>\n",
        "generator/model/m.hpp": '#include "generator/isa/a.hpp"\n',
        "templates/t.hpp": '#include "generator/passes/p.hpp"\n',
        "runtime/device/sim/s.hpp": '#include "generator/lower/l.hpp"\n',
        "tests/oracle/o.hpp": "#include <vector>\n",
        "tests/harness/h.hpp": '#include "tests/oracle/o.hpp"\n#include "templates/t.hpp"\n',
        "tests/templates/x.cpp": '#include "tests/harness/h.hpp"\n',
        "tools/w.cpp": '#include "tests/oracle/o.hpp"\n#include "runtime/device/sim/s.hpp"\n',
    }
    bad = [
        ("generator/isa/bad.hpp", '#include "generator/passes/p.hpp"'),
        ("generator/isa/bad.hpp", '#include "a.hpp"'),
        ("generator/passes/bad.cpp", '#include "templates/t.hpp"'),
        ("generator/passes/bad.cpp", "#  include <llvm/MC/MCContext.h>"),
        ("generator/ir/bad.cpp", "#include <thread>"),
        ("generator/model/bad.cpp", '#include "generator/passes/p.hpp"'),
        ("templates/bad.cpp", '#include "runtime/device/sim/s.hpp"'),
        ("templates/bad.cpp", "#include <fstream>"),
        ("templates/bad.cpp", "#include <hip/hip_runtime.h>"),
        ("runtime/device/sim/bad.cpp", '#include "generator/passes/p.hpp"'),
        ("runtime/device/sim/bad.cpp", '#include "templates/t.hpp"'),
        ("runtime/check/bad.cpp", '#include "generator/passes/p.hpp"'),
        ("runtime/check/bad.cpp", '#include "runtime/device/sim/s.hpp"'),
        ("runtime/engine/bad.cpp", '#include "tools/w.cpp"'),
        ("tests/oracle/bad.cpp", '#include "generator/support/error.hpp"'),
        ("tests/oracle/bad.cpp", '#include "templates/t.hpp"'),
        ("tests/harness/bad.cpp", '#include "tests/templates/x.cpp"'),
        ("generator/stray.hpp", "#include <string>"),
        ("tools/bad.cpp", "  const auto j = nlohmann::json::parse(text);"),
    ]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def write(path, text):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

        for path, text in good.items():
            write(path, text)
        found, _ = check(root)
        if found:
            failures += 1
            print("self-test: the good tree was refused:", *found, sep="\n  ")
        for path, line in bad:
            write(path, "#include <vector>\n" + line + "\n")
            found, _ = check(root)
            (root / path).unlink()
            if not any(f.startswith(path) for f in found):
                failures += 1
                print(f"self-test: not found: {path}: {line}")
    print(f"floors self-test: {len(bad) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    found, files = check(root)
    for line in found:
        print(line)
    print(f"floors: {files} files, {len(found)} lines that break a rule")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
