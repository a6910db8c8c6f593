#!/usr/bin/env python3
"""What is too long for every change: `make nightly`, or `scripts/run_nightly.py [--minutes N] [PART ...]`.

Each part searches for what breaks and prints how to run a finding again; the exit status is 1 if any part fails.
"""
import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# name -> (command, share of the time, seconds that one {unit} stands for)
PARTS = {
    # Random programs of each kind against the reference, other ones every day: more than 2,000 of values.
    "programs": ([sys.executable, "-m", "generator", "--seed", time.strftime("%Y%m%d0000"), "--count", "{unit}"], 0.5, 0.35),
    "ordered": ([sys.executable, "-m", "generator", "--kind", "ordered", "--seed", time.strftime("%Y%m%d0000"), "--count", "{unit}"], 0.5, 1.0),
    # Mutated IR text, requests, tables, host programs and cache entries: an answer for each, no crash, no hang (scripts/mutation).
    "mutation": ([sys.executable, "-m", "scripts.mutation", "--seconds", "{unit}"], 1.0, 5.0),
    # The targets of tools/fuzz, guided by coverage, with sanitizers (scripts/fuzz): the same, and no leak.
    "fuzz": ([sys.executable, "-m", "scripts.fuzz", "--seconds", "{unit}"], 1.0, 3.0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="parts to run; all by default")
    parser.add_argument("--minutes", type=float, default=90.0, help="time for all parts together, about")
    options = parser.parse_args()
    environment = {"INTENT_LIBRARY_DIR": str(ROOT / "build/lib"), **os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'python/tests'}"}
    chosen = {name: PARTS[name] for name in options.part or PARTS}
    total = sum(share for _, share, _ in chosen.values())
    failed = []
    for name, (command, share, unit) in chosen.items():
        count = max(1, int(options.minutes * 60 * share / total / unit))
        begin = time.monotonic()
        status = subprocess.run([part.format(unit=count) for part in command], cwd=ROOT, env=environment).returncode
        print(f"nightly: {name}: {'passed' if status == 0 else 'failed'} in {time.monotonic() - begin:.0f} s", flush=True)
        if status:
            failed.append(name)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
