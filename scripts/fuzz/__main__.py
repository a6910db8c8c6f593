"""Runs the fuzz targets under libFuzzer: `python -m scripts.fuzz --seconds 600 [TARGET ...]`.

They are built into build/fuzz by clang, with address and undefined behaviour sanitizers. An input that crashes, hangs, leaks, or gets an
internal error is kept in build/fuzz/findings/<target>/, and the exit status is then 1. With the fix it goes to
tools/fuzz/corpus/<target>/, which `make test` replays. Inputs that opened new paths stay in build/fuzz/corpus/ for the next run.
"""
from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import seeds

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "fuzz"
TARGETS = ("request", "text", "host")


def build() -> None:
    environment = {**os.environ, "BUILD": "build/fuzz", "PRESET": "fuzz", "TARGETS": "fuzz-targets"}
    subprocess.run([ROOT / "scripts/build.sh"], cwd=ROOT, env=environment, check=True)


def run(target, seconds) -> bool:
    """Whether nothing was found; what was found is printed."""
    corpus, findings = BUILD / "corpus" / target, BUILD / "findings" / target
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    log = BUILD / f"{target}.log"
    command = [BUILD / "bin" / f"fuzz-{target}", f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=4096", "-max_len=32768", "-print_funcs=0",
               f"-dict={BUILD / 'seeds' / 'words.dict'}", f"-artifact_prefix={findings}/", corpus, BUILD / "seeds" / target, ROOT / "tools/fuzz/corpus" / target]
    with log.open("wb") as output:
        status = subprocess.run([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT).returncode
    text = log.read_text(errors="replace")
    coverage = re.findall(r"cov: (\d+)", text)
    inputs = re.findall(r"^#(\d+)", text, re.MULTILINE)
    new = sorted(set(findings.iterdir()) - known)
    print(f"{target:<8} {inputs[-1] if inputs else 0} inputs, {coverage[-1] if coverage else 0} edges, {'nothing found' if status == 0 else f'ended with {status}'}"
          + "".join(f"\n  {path}" for path in new), flush=True)
    if status:
        print("\n".join(f"  {line}" for line in text.splitlines()[-60:]), flush=True)
    return status == 0 and not new


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", choices=[*TARGETS, []], help="what to run; all by default")
    parser.add_argument("--seconds", type=int, default=600, help="time for each target")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="targets at a time")
    options = parser.parse_args()
    build()
    shutil.rmtree(BUILD / "seeds", ignore_errors=True)
    seeds.write(BUILD / "seeds")
    with ThreadPoolExecutor(options.jobs) as pool:
        return int(not all(pool.map(lambda target: run(target, options.seconds), options.target or TARGETS)))


if __name__ == "__main__":
    sys.exit(main())
