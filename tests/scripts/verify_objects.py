#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The static checker over a folder of code objects: a table of its findings by kind and rule.

    verify_objects.py FOLDER [--wavejit PROGRAM] [--suffix .co] [--jobs 2] [--strict] [--examples N]

Each object is given to `wavejit verify --json`. One row per severity, kind, rule and source: findings, objects
with at least one, an example. Objects that cannot be read are listed with their error. The exit status is 0 when
every object was judged, whatever was found.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys


def verify(program, path, options):
    """(path, reports) or (path, message)."""
    done = subprocess.run([program, "verify", "--json", *options, str(path)], capture_output=True, text=True)
    try:
        reports = json.loads(done.stdout)
        if isinstance(reports, list):
            return path, reports, None
        return path, None, reports.get("error", {}).get("message", done.stdout.strip())
    except (json.JSONDecodeError, AttributeError):
        return path, None, (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wavejit", default="build/release/tools/wavejit")
    parser.add_argument("--suffix", default=".co")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--strict", action="store_true", help="as our own kernels are judged")
    parser.add_argument("--examples", type=int, default=1, help="places to name per row")
    args = parser.parse_args()

    files = sorted(p for p in args.folder.rglob("*" + args.suffix) if p.is_file())
    if not files:
        sys.exit(f"no file that ends in {args.suffix} below {args.folder}")
    options = ["--limit", "1000000"] + (["--strict"] if args.strict else [])
    found = collections.Counter()
    objects = collections.defaultdict(set)
    places = collections.defaultdict(list)
    errors, clean, without_errors, kernels = [], 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for path, reports, error in pool.map(lambda p: verify(args.wavejit, p, options), files):
            if error is not None:
                errors.append((path, error))
                continue
            kernels += len(reports)
            findings = [f for r in reports for f in r["findings"]]
            clean += not findings
            without_errors += not any(f["severity"] == "error" for f in findings)
            for f in findings:
                key = (f["severity"], f["kind"], f["rule"] or "-", f["source"])
                found[key] += 1
                objects[key].add(path)
                if len(places[key]) < args.examples:
                    places[key].append(f"{path.relative_to(args.folder)} 0x{f['address']:x} {f['instruction']}: "
                                       f"{f['message']}")

    print(f"{len(files)} objects: {len(files) - len(errors)} judged ({kernels} kernels), {len(errors)} not judged; "
          f"{clean} without findings, {without_errors} without errors")
    print(f"\n{'findings':>8} {'objects':>7}  {'severity':8} {'source':8} {'kind':22} rule")
    order = {"error": 0, "warning": 1, "note": 2}
    for key in sorted(found, key=lambda k: (order[k[0]], -found[k])):
        severity, kind, rule, source = key
        print(f"{found[key]:8} {len(objects[key]):7}  {severity:8} {source:8} {kind:22} {rule}")
        for place in places[key]:
            print(f"{'':26}{place}")
    for path, error in errors:
        print(f"not judged: {path.relative_to(args.folder)}: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
