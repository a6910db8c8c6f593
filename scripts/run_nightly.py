#!/usr/bin/env python3
"""What is too long for every change: `make nightly`, or `scripts/run_nightly.py [--minutes N] [PART ...]`.

Each part runs for its share of the time and says what it found; the exit status is 1 if any part fails.
"""
import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# name -> (command with {seconds} for its time, share of the time)
PARTS = {
    # Mutated IR text, requests, tables and host programs: a diagnostic for each, no crash, no hang (scripts/mutation).
    "mutation": ([sys.executable, "-m", "scripts.mutation", "--seconds", "{fifth}"], 1.0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="parts to run; all by default")
    parser.add_argument("--minutes", type=float, default=60.0, help="time for all parts together")
    options = parser.parse_args()
    chosen = {name: PARTS[name] for name in options.part or PARTS}
    total = sum(share for _, share in chosen.values())
    failed = []
    for name, (command, share) in chosen.items():
        seconds = options.minutes * 60 * share / total
        begin = time.monotonic()
        status = subprocess.run([part.format(seconds=seconds, fifth=seconds / 5) for part in command], cwd=ROOT).returncode
        print(f"nightly: {name}: {'passed' if status == 0 else 'failed'} in {time.monotonic() - begin:.0f} s", flush=True)
        if status:
            failed.append(name)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
