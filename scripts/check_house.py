#!/usr/bin/env python3
"""Checks the habits of the house that a script can check; exits non-zero when one is broken.

- Each pass of a Passes.td has the files its flag promises: a test of that name.
- Each labelled verifier constraint (`C3`) has a negative test beside the dialect's tests.
- Nothing in the sources postpones work in a comment.
- Long files are listed (not an error): split them by operation family.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 500
POSTPONED = re.compile(r"\b(?:%s)\b" % "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")))


def files(*places, suffixes=()):
    """Files at or below these places, without what a build or an interpreter left there."""
    for place in map(ROOT.joinpath, places):
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts and (not suffixes or path.suffix in suffixes):
                yield path


def passes_without_test():
    """The pass `block-narrow-ranges` of a Passes.td needs test/**/narrow-ranges.mlir that runs it; one registered by hand any test that does."""
    tests = {path: path.read_text() for path in files("test", suffixes=(".mlir",))}
    for definition in files("include", "lib", suffixes=(".td", ".cpp", ".h")):
        text = definition.read_text()
        for flag in re.findall(r':\s*Pass<\s*"([^"]+)"', text):
            if not any(path.stem in (flag, flag.split("-", 1)[-1]) and flag in test for path, test in tests.items()):
                yield f"{definition.relative_to(ROOT)}: pass {flag} has no test named {flag.split('-', 1)[-1]}.mlir"
        for flag in re.findall(r'StringRef getArgument\(\) const \w+ \{ return "([^"]+)"', text):
            if not any(flag in test for test in tests.values()):
                yield f"{definition.relative_to(ROOT)}: no test runs pass {flag}"


def constraints_without_test():
    """Each `C<n>: text` of a dialect's verifiers occurs in an expected-error of that dialect's tests."""
    for source in files("lib/Dialect", suffixes=(".cpp",)):
        dialect = source.relative_to(ROOT).parts[2]
        expected = "\n".join(re.findall(r"expected-error.*", "\n".join(path.read_text() for path in files(f"test/Dialect/{dialect}", suffixes=(".mlir",)))))
        for label in re.findall(r'"(C\d+: [^"]*)"', source.read_text()):
            if label.strip() not in expected:
                yield f"{source.relative_to(ROOT)}: no negative test expects '{label}'"


def postponed_work():
    for path in files(*(place for place in ROOT.iterdir() if place.name not in ("build", ".venv", ".git"))):
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if POSTPONED.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: postponed work belongs in the issue list: {line.strip()[:80]}"


def long_files():
    for path in files("lib", "include", "python", "tools", "scripts", suffixes=(".cpp", ".h", ".td", ".py")):
        lines = path.read_text().count("\n")
        if lines > MOST_LINES:
            yield f"{path.relative_to(ROOT)}: {lines} lines"


def main():
    errors = [*passes_without_test(), *constraints_without_test(), *postponed_work()]
    for warning in long_files():
        print(f"house: long: {warning}")
    for error in errors:
        print(f"house: {error}")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
