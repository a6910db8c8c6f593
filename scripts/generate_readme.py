#!/usr/bin/env python3
"""Fills the marked parts of README.md: the example as it is, and what the compiler of this build generates for it.

`--check` writes nothing and fails where README.md shows something else.
"""
import argparse
import re
import sys
from pathlib import Path

import intent
import intent.language as I

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "examples"))


def example(name):
    """The kernel of an example, without its data."""
    source = (ROOT / "examples" / f"{name}.py").read_text()
    body = re.search(r"^import intent\n.*?(?=^\n\ndef reference)", source, re.MULTILINE | re.DOTALL)[0]
    return body.strip()


def generated(name):
    """The first kernel that Triton source for sm_90 holds, without the launch table."""
    kernel = getattr(__import__(name), name)
    source = intent.generate(kernel, "triton:sm_90", types={"T": I.f16}).source
    return re.search(rf"^@triton\.jit\ndef {name}_.*?(?=\n\n\n)", source, re.MULTILINE | re.DOTALL)[0]


def filled(text):
    for kind, produce in (("example", example), ("generated", generated)):
        text = re.sub(rf"(<!-- {kind}: (\w+) -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}```python\n{produce(m[2])}\n```\n{m[3]}", text, flags=re.DOTALL)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    old = README.read_text()
    new = filled(old)
    if options.check and old != new:
        sys.exit("readme: README.md shows something else than this build generates: run scripts/generate_readme.py")
    if not options.check:
        README.write_text(new)


if __name__ == "__main__":
    main()
