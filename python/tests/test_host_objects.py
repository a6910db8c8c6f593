"""Compiled objects in the folder `native` of an artifact's entry: what later processes find there, and what they make of damage."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import intent
import intent.language as I
from intent import native

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@intent.kernel
def double(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] + x[:]


PROGRAM = """
import numpy as np
import test_host_objects as tests
import intent
compiled = intent.compile(tests.double)
assert (compiled.run(np.arange(5, dtype=np.float32)) == np.arange(5) * 2).all()
print(compiled.cache_directory)
"""


def objects(root):
    """`{name: (content, identity)}` after a fresh process has compiled and run. A file that is written again is another one."""
    environment = {**os.environ, "INTENT_CACHE_DIR": str(root), "PYTHONPATH": os.pathsep.join([str(Path(intent.__file__).parents[1]), str(Path(__file__).parent)])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip(), "native")
    return {f.name: (f.read_bytes(), f.stat().st_ino) for f in folder.iterdir()} if folder.is_dir() else {}, folder


def test_another_process_finds_them(tmp_path):
    first, _ = objects(tmp_path)
    assert len(first) == 1 and all(name.endswith(".o") for name in first)
    second, _ = objects(tmp_path)
    assert second == first


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:10], lambda data: data[:-1], lambda data: data[:100] + b"x" + data[101:]])
def test_damaged_ones_are_made_again(tmp_path, damage):
    first, folder = objects(tmp_path)
    [(name, (content, _))] = first.items()
    (folder / name).write_bytes(damage(content))
    again, _ = objects(tmp_path)
    assert again[name][0] == content


def test_a_folder_that_cannot_be_made_keeps_none(tmp_path):
    _, folder = objects(tmp_path)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.write_bytes(b"")  # a file in its place
    assert objects(tmp_path)[0] == {}


def test_one_folder_is_bounded(tmp_path):
    first, folder = objects(tmp_path)
    for file in folder.iterdir():
        file.unlink()
    (folder / "filler.o").write_bytes(bytes(1 << 20))
    again, _ = objects(tmp_path)
    assert set(again) == {"filler.o"}
