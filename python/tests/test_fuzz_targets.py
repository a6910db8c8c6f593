"""Inputs of the fuzz targets that once broke something or open paths of their own: each ends in a proper answer of the shipped form."""
import subprocess

import pytest

from compilation import REPOSITORY, build_directory

CORPUS = REPOSITORY / "tools" / "fuzz" / "corpus"
SECONDS = 250


def broken(program, files):
    """`[(file, what ended the process)]`; the files behind one that ends it are given to another process."""
    found, left = [], [str(path) for path in files]
    while left:
        try:
            done = subprocess.run([program, *left], capture_output=True, text=True, errors="replace", timeout=SECONDS)
            if done.returncode == 0:
                break
            reason, said = f"exit status {done.returncode}", done.stderr
        except subprocess.TimeoutExpired as slow:
            reason, said = f"no end in {SECONDS} s", (slow.stderr or b"").decode(errors="replace")
        begun = [line for line in said.splitlines() if line in left]
        last = begun[-1] if begun else left[0]
        found.append((last, f"{reason}: {said[said.rfind(last) + len(last):].strip()[:300]}"))
        left = left[left.index(last) + 1:]
    return found


@pytest.mark.parametrize("target", ["request", "text", "host"])
def test_corpus(target):
    files = sorted((CORPUS / target).iterdir())
    assert files
    assert broken(build_directory() / "bin" / f"fuzz-{target}", files) == []


def test_a_crash_is_told_by_its_name(tmp_path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nfor file; do echo "$file" >&2; case $file in *bad*) echo reason >&2; kill -ABRT $$;; esac; done\n')
    program.chmod(0o755)
    files = [tmp_path / name for name in ("good", "bad-1", "fine", "bad-2")]
    assert broken(program, files) == [(str(tmp_path / "bad-1"), "exit status -6: reason"), (str(tmp_path / "bad-2"), "exit status -6: reason")]
