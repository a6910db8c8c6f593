#!/usr/bin/env python3
"""Runs every suite and prints one line of totals last: `N passed, M failed`.

Suites: lit over test/, pytest over python/tests/, random programs against the reference (200 of expressions, 100 of ordered effects),
the C++ unit tests that the build made, and the house checks.
Each writes a JUnit report under build/reports/, from which the totals come; a suite that leaves none counts as
one failure. `run_tests.py lit python` runs these suites only; `--build` names another build folder.
"""
import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def suites(build, reports):
    """(name, command, JUnit report or None for a check that its exit status decides)."""
    tools = Path(sys.executable).parent
    workers = str(len(os.sched_getaffinity(0)))
    yield ("lit", [tools / "lit", "-q", "-j", workers, ROOT / "test", "--param", f"build={build}", "--xunit-xml-output", reports / "lit.xml"], reports / "lit.xml")
    if (ROOT / "python/tests").is_dir():
        yield ("python", [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=300",
                          f"--junit-xml={reports / 'python.xml'}", ROOT / "python/tests"], reports / "python.xml")
        for name, kind, programs in (("programs", "values", 200), ("ordered", "ordered", 100)):
            report = reports / f"{name}.xml"
            yield (name, [sys.executable, "-m", "generator", "--kind", kind, "--seed", "1", "--count", str(programs), "--shrink", "20", f"--junit-xml={report}"], report)
    for test in sorted((build / "bin").glob("*-unittests")):
        report = reports / f"{test.name}.xml"
        yield (test.name, [test, "--gtest_brief=1", f"--gtest_output=xml:{report}"], report)
    yield ("house", [sys.executable, ROOT / "scripts/check_house.py"], None)
    yield ("reference", [sys.executable, ROOT / "scripts/generate_reference.py", "--check"], None)
    yield ("readme", [sys.executable, ROOT / "scripts/generate_readme.py", "--check"], None)


def count(report):
    """(passed, failed, skipped) of a JUnit report."""
    passed = failed = skipped = 0
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
        elif "skipped" in kinds or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def run(name, command, report, environment):
    if report:
        report.unlink(missing_ok=True)
    started = time.monotonic()
    status = subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL).returncode
    try:
        passed, failed, skipped = count(report) if report else (int(status == 0), int(status != 0), 0)
    except (OSError, xml.ParseError):
        passed, failed, skipped = 0, 1, 0
    if status != 0 and failed == 0:
        failed = 1
    print(f"{name:<12} {passed:>6} passed {failed:>4} failed {skipped:>4} skipped  {time.monotonic() - started:6.1f} s", flush=True)
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", help="suites to run; all by default")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
    options = parser.parse_args()
    build = options.build.resolve()
    reports = build / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, INTENT_CACHE_DIR=str(build / "test-cache"), INTENT_LIBRARY_DIR=str(build / "lib"),
                       PYTHONPATH=os.pathsep.join([str(ROOT / "python"), str(ROOT / "python/tests")]))
    known = list(suites(build, reports))
    unknown = set(options.suite) - {name for name, _, _ in known}
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}; there are {', '.join(name for name, _, _ in known)}")
    totals = [run(*suite, environment) for suite in known if not options.suite or suite[0] in options.suite]
    passed, failed, skipped = (sum(column) for column in zip(*totals))
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
