"""Runs programs of consecutive seeds; the last line is `N passed, M failed`."""
from __future__ import annotations

import argparse
import sys
import time
import xml.etree.ElementTree as xml
from collections import Counter

from .coverage import table
from .families import FAMILIES
from .pool import Pool


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="generator", description=__doc__)
    parser.add_argument("--kind", choices=FAMILIES, default="values", help="expressions over all dtypes, or integer effects in which order matters")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--jobs", type=int, default=None, help="worker processes; one a processor by default")
    parser.add_argument("--shrink", type=float, default=30.0, metavar="SECONDS", help="time to make each failing program smaller; 0 for none")
    parser.add_argument("--most", type=int, default=8, help="kinds of failure to make smaller and print, one program each; every failing seed gets a line")
    parser.add_argument("--junit-xml", metavar="FILE", help="a report for scripts/run_tests.py")
    parser.add_argument("--print", action="store_true", help="print the programs instead of running them")
    parser.add_argument("--coverage", action="store_true", help="print how many of the programs use each construct of the language")
    options = parser.parse_args(arguments)
    family = FAMILIES[options.kind]
    seeds = range(options.seed, options.seed + options.count)
    if options.print:
        for seed in seeds:
            print(family.source(family.program(seed)))
        return 0
    if options.coverage:
        print(table(map(family.program, seeds), family.source))
        return 0
    started = time.monotonic()
    passed, skipped, failures = 0, Counter(), []
    cases = []
    with Pool(options.jobs, family) as pool:
        for seed, outcome in pool.outcomes(seeds):
            cases.append((seed, outcome))
            if outcome.status == "passed":
                passed += 1
            elif outcome.status == "skipped":
                skipped[outcome.category] += 1
            else:
                failures.append((seed, outcome))
                print(f"seed {seed}: {outcome.category}: {outcome.detail.splitlines()[0] if outcome.detail else ''}", flush=True)
        failures.sort(key=lambda f: f[0])
        kinds = {}
        for seed, outcome in failures:
            kinds.setdefault(outcome.signature, []).append((seed, outcome))
        for alike in sorted(kinds.values(), key=len)[:options.most]:
            report(pool, *alike[0], options.shrink, [seed for seed, _ in alike[1:]])
    for reason, count in skipped.most_common():
        print(f"skipped {count}: {reason}")
    if options.junit_xml:
        write_report(options.junit_xml, family.name, cases)
    print(f"{sum(skipped.values())} skipped in {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {len(failures)} failed", flush=True)
    return 1 if failures else 0


def write_report(path, name, cases):
    suite = xml.Element("testsuite", name=name, tests=str(len(cases)))
    for seed, outcome in sorted(cases, key=lambda c: c[0]):
        case = xml.SubElement(suite, "testcase", classname=name, name=f"seed {seed}")
        if outcome.status != "passed":
            xml.SubElement(case, "skipped" if outcome.status == "skipped" else "failure", message=outcome.category)
    xml.ElementTree(suite).write(path)


def report(pool, seed, outcome, seconds, others):
    def fails(candidate):
        found = pool.outcome(candidate)
        return found.status == "failed" and found.signature == outcome.signature

    family, program = pool.family, pool.family.program(seed)
    # Each try at a hang would take the whole time limit.
    small = family.shrink(program, fails, seconds) if seconds > 0 and outcome.category != "timeout" else program
    final = pool.outcome(small)
    print(f"\n-- seed {seed}: {outcome.category}\n{final.detail or outcome.detail}\n{family.source(small)}# extents {small.sizes}, data seed {small.data_seed}")
    print(f"rerun: make fuzz KIND={family.name} SEED={seed} COUNT=1" + (f"   (and {len(others)} like it: {', '.join(map(str, others[:8]))})" if others else "") + "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
