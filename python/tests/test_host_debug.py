"""INTENT_DEBUG: native code with the author's lines, for debuggers and profilers."""

import os
import re
import shutil
import struct
import subprocess
import sys

import pytest

from intent import native

LIBRARY = native.find_library("libintent-host.so")
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the libraries are not built")

PROGRAM = '''\
import os, sys
import numpy as np
import intent
import intent.language as I

@intent.fn
def double(a):
    return a + a  # line 8

@intent.kernel
def scaled(x: I.In[I.f32, ("N",)], w: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    v = x[:]  # line 12
    s = I.reduce.sum(w[:], axis=0)  # line 13
    y[:] = I.exp(double(v)) * s  # line 14

x = np.linspace(-1, 1, 5000, dtype=np.float32)
y = intent.compile(scaled).run(x, np.full(5000, 0.25, np.float32))
assert np.allclose(y, np.exp(2 * x.astype(np.float64)) * 1250, rtol=1e-5)
'''


def run(folder, listeners=None, then=""):
    """Runs the program, and `then`, in a process of its own whose caches and dumps are in the folder."""
    script = folder / "author.py"
    script.write_text(PROGRAM + then)
    environment = {**os.environ, "INTENT_CACHE_DIR": str(folder / "cache"), "JITDUMPDIR": str(folder / "dump"), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("INTENT_DEBUG", None)
    if listeners is not None:
        environment["INTENT_DEBUG"] = listeners
    if not (folder / "dump").exists():
        (folder / "dump").mkdir()
    return subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)


def jitdumps(folder):
    return sorted((folder / "dump").rglob("*.dump"))


def records(data):
    """The records of a jitdump file (the kernel's jitdump-specification.txt): number and content."""
    magic, version, header = struct.unpack_from("<III", data)
    assert (magic, version) == (0x4A695444, 1)
    at = header
    while at < len(data):
        number, size, _ = struct.unpack_from("<IIQ", data, at)
        yield number, data[at + 16 : at + size]
        at += size


def test_perf_gets_symbol_and_lines(tmp_path):
    out = run(tmp_path, "perf")
    assert out.returncode == 0, out.stderr
    (dump,) = jitdumps(tmp_path)
    loads, lines = [], set()
    for number, content in records(dump.read_bytes()):
        if number == 0:
            _, _, _, address, size, _ = struct.unpack_from("<IIQQQQ", content)
            loads.append((address, size, content[40:].split(b"\0")[0].decode()))
        if number == 2:
            _, count = struct.unpack_from("<QQ", content)
            at = 16
            for _ in range(count):
                address, line, _ = struct.unpack_from("<QII", content, at)
                name, _, _ = content[at + 16 :].partition(b"\0")
                at += 17 + len(name)
                lines.add((os.path.basename(name.decode()), line, address))
    ((base, size, symbol),) = loads
    assert symbol == "intent_scaled"
    assert {name for name, _, _ in lines} == {"author.py"} and {12, 13, 14} <= {line for _, line, _ in lines} <= {0, 8, 11, 12, 13, 14}
    header = 64  # of the ELF file that perf makes of the code; it counts addresses of lines from there
    assert all(base <= address - header <= base + size for _, _, address in lines)


ENTRY = '''
import ctypes, pathlib, subprocess
library = os.path.realpath(intent.native.find_library("libintent-host.so"))
(offset,) = [int(line.split()[0], 16) for line in subprocess.check_output(["nm", library], text=True).splitlines() if line.endswith(" __jit_debug_descriptor")]
bases = [int(line.split("-")[0], 16) for line in open("/proc/self/maps") if line.rstrip().endswith(library)]
class Code(ctypes.Structure):
    pass
Code._fields_ = [("next", ctypes.POINTER(Code)), ("previous", ctypes.POINTER(Code)), ("file", ctypes.POINTER(ctypes.c_char)), ("size", ctypes.c_uint64)]
class Descriptor(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("action", ctypes.c_uint32), ("relevant", ctypes.POINTER(Code)), ("first", ctypes.POINTER(Code))]
descriptor = Descriptor.from_address(min(bases) + offset)
assert descriptor.version == 1
code = descriptor.first
if code:
    assert not code.contents.next
    pathlib.Path("{path}").write_bytes(ctypes.string_at(code.contents.file, code.contents.size))
'''


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_gdb_gets_an_object_with_lines(tmp_path):
    """The list of objects that gdb reads from the library's memory."""
    found = tmp_path / "registered.o"
    out = run(tmp_path, "gdb", ENTRY.replace("{path}", str(found)))
    assert out.returncode == 0, out.stderr
    assert found.read_bytes()[:4] == b"\x7fELF" and not jitdumps(tmp_path)
    dwarfdump = shutil.which("llvm-dwarfdump-22") or shutil.which("llvm-dwarfdump") or "/usr/lib/llvm-22/bin/llvm-dwarfdump"
    if not os.path.exists(dwarfdump):
        pytest.skip("llvm-dwarfdump is not installed")
    table = subprocess.check_output([dwarfdump, "--debug-line", found], text=True)
    rows = [tuple(map(int, row)) for row in re.findall(r"(?m)^0x[0-9a-f]{16} +(\d+) +(\d+) ", table)]
    assert 'name: "author.py"' in table
    assert {12, 13, 14} <= {line for line, _ in rows} <= {0, 8, 11, 12, 13, 14}
    assert (14, PROGRAM.splitlines()[13].index("I.exp") + 1) in rows
    assert re.search(r'DW_AT_name\s+\("scaled"\)', subprocess.check_output([dwarfdump, "--debug-info", found], text=True))


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_nobody_is_told_unasked(tmp_path):
    found = tmp_path / "registered.o"
    out = run(tmp_path, None, ENTRY.replace("{path}", str(found)))
    assert out.returncode == 0, out.stderr
    assert not found.exists() and not jitdumps(tmp_path)


def test_kept_objects_are_apart(tmp_path):
    kept = lambda: {path: path.read_bytes() for path in (tmp_path / "cache").rglob("native/*.o")}
    assert run(tmp_path).returncode == 0
    plain = kept()
    assert len(plain) == 1 and not any(b".debug_line" in data for data in plain.values())
    assert run(tmp_path, "perf").returncode == 0
    both = kept()
    assert len(both) == 2 and plain.items() <= both.items()
    # A kept object tells as much as a fresh one, and none is made again.
    assert run(tmp_path, "perf").returncode == 0 and run(tmp_path).returncode == 0 and kept() == both
    first, second = (dump.read_bytes().count(b"author.py\0") for dump in jitdumps(tmp_path))
    assert first == second > 3


def test_unknown_names(tmp_path):
    out = run(tmp_path, "gdb,lldb")
    assert out.returncode and "ConfigurationError: INTENT_DEBUG: expected 'gdb', 'perf' or both with a comma between them, got 'gdb,lldb'" in out.stderr


def test_a_dump_that_cannot_be_written(tmp_path):
    (tmp_path / "dump").write_text("no folder")
    out = run(tmp_path, "perf")
    assert out.returncode == 1 and re.search(r"no jitdump can be written to '.*/dump/.debug/jit': Not a directory", out.stderr), out.stderr
