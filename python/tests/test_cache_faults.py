"""What a killed process, a full disk or a read-only disk leaves of the artifact cache: whole entries or none, and one warning."""
import errno
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from intent import cache, eviction
from intent.artifacts import GeneratedProgram
from intent.cache import ArtifactCache
from intent.errors import ConfigurationError
from intent.tuning import winners

KEY = "ab" + "0" * 62
OLD = "cd" + "1" * 62
FILES = {"input.kir.mlir": "kir\n" * 50, "source.py": "print('ä')\n", "interface.json": "{}"}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """What a killed process leaves does not depend on `fsync`, which a machine that loses its power needs."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def child(body) -> int:
    """The exit status of a forked process that runs `body`; 0 if it returns."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Kill:
    """Ends the process without a trace at step `n`: a line of the cache's own code, or the middle of a write."""

    def __init__(self, n):
        self.left = n
        self.sources = {cache.__file__, eviction.__file__}

    def step(self):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def trace(self, frame, event, _):
        if frame.f_code.co_filename not in self.sources:
            return None
        if event == "line":
            self.step()
        return self.trace

    def install(self):
        write = os.write

        def torn(descriptor, data):
            data = bytes(data)
            done = write(descriptor, data[: len(data) // 2])
            self.step()
            return done if done else write(descriptor, data)

        os.write = torn
        sys.settrace(self.trace)


def whole(store, key) -> bool:
    """Whether the entry is there; fails if a reader sees anything but all of it or nothing."""
    directory = store.entry_directory(key)
    found = store.load(key)
    if found is None:
        return False
    assert found == (directory, FILES)
    manifest = json.loads((directory / "manifest.json").read_bytes())
    assert {name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in FILES} == manifest["files"]
    return True


def killed_everywhere(tmp_path, prepare, act, check):
    """Runs `act` in a process killed at each of its steps in turn, on a root that `prepare` filled, and then `check`."""
    for n in range(2000):
        root = tmp_path / str(n)
        prepare(ArtifactCache(root))

        def body():
            Kill(n).install()
            act(ArtifactCache(root))

        status = child(body)
        assert status in (0, -signal.SIGKILL)
        check(ArtifactCache(root))
        if status == 0:
            assert n > 40, "the steps were not counted"
            return
    raise AssertionError("publishing takes more steps than this test allows")


def test_killed_while_publishing(tmp_path):
    def check(store):
        published = whole(store, KEY)
        with store.lock(KEY):
            store.store(KEY, FILES, {})
        assert whole(store, KEY) and published in (True, False)

    killed_everywhere(tmp_path, lambda store: None, lambda store: store.store(KEY, FILES, {}), check)


def test_killed_while_replacing_a_damaged_entry(tmp_path):
    def prepare(store):
        (store.store(KEY, FILES, {}) / "source.py").write_text("pri")

    def check(store):
        whole(store, KEY)
        store.store(KEY, FILES, {})
        assert whole(store, KEY)

    killed_everywhere(tmp_path, prepare, lambda store: store.store(KEY, FILES, {}), check)


def test_killed_while_evicting(tmp_path, monkeypatch):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", "30K")  # an entry counts five blocks of 4 KiB
    monkeypatch.setattr(eviction, "_ABANDONED_SECONDS", -1.0)

    def check(store):
        whole(store, OLD), whole(store, KEY)
        store.store(KEY, FILES, {})
        assert whole(store, KEY)
        assert sum(path.is_dir() for path in store.root.glob("v1/[0-9a-f][0-9a-f]/*")) == 1
        store.store(OLD, FILES, {})  # counts again, which removes what the dead process left
        assert not list(store.root.glob("v1/.*"))

    killed_everywhere(tmp_path, lambda store: store.store(OLD, FILES, {}), lambda store: store.store(KEY, FILES, {}), check)


def test_killed_while_keeping_a_failure(tmp_path):
    failure = {"request.json": "{}" * 20, "diagnostics.json": "[]"}

    def check(store):
        for kept in store.root.glob("v1/failed/*"):
            assert {path.name: path.read_text() for path in kept.iterdir()} == failure
        assert store.keep_failure(failure).is_dir()

    killed_everywhere(tmp_path, lambda store: None, lambda store: store.keep_failure(failure), check)


CALLS = ("open", "write", "pwrite", "fsync", "mkdir", "rename", "scandir", "utime")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
def test_an_error_of_any_call_costs_one_warning_at_most(tmp_path, monkeypatch, code):
    """The n-th system call of publishing, and every later one below this root, fails."""
    warned = 0
    for n in range(200):
        root = tmp_path / str(n)
        seen = fail_from(monkeypatch, n, root, code)
        store = ArtifactCache(root)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with store.lock(KEY):
                directory = store.store(KEY, FILES, {})
                store.store(OLD, FILES, {})
            assert cache.read_entry(directory, KEY) == FILES
            failed = store.keep_failure({"request.json": "{}"})
        monkeypatch.undo()
        monkeypatch.setenv("INTENT_CACHE_DIR", str(root))
        assert failed is not None and (failed / "request.json").read_text() == "{}"
        assert len(caught) <= 1 and all("cannot be written" in str(w.message) for w in caught)
        warned += len(caught)
        assert cache.read_entry(store.root / "v1" / "ab" / KEY, KEY) in (None, FILES)
        if seen[0] <= n:
            assert warned > 10
            return
    raise AssertionError("publishing takes more calls than this test allows")


def fail_from(monkeypatch, n, root, code):
    """Lets the calls on paths below `root` from number `n` on fail; descriptors count once opened there. `[calls so far]`."""
    seen, opened = [0], set()

    def wrap(name, original):
        def call(first, *rest, **named):
            below = first in opened if isinstance(first, int) else str(first).startswith(str(root))
            if below:
                seen[0] += 1
                if seen[0] > n:
                    raise OSError(code, os.strerror(code))
            result = original(first, *rest, **named)
            if name == "open":
                (opened.add if below else opened.discard)(result)
            return result

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, wrap(name, getattr(os, name)))
    return seen


def deeply(path):
    path.write_text("[" * 100_000)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("name", ["manifest.json", "source.py"])
@pytest.mark.parametrize("damage", [deeply, pipe, folder])
def test_what_is_no_file_of_ours_is_replaced(tmp_path, name, damage):
    store = ArtifactCache(tmp_path)
    directory = store.store(KEY, FILES, {})
    damage(directory / name)
    assert store.load(KEY) is None
    with pytest.raises(ConfigurationError, match="no saved program"):
        GeneratedProgram.load(directory)
    store.store(KEY, FILES, {})
    assert store.load(KEY) == (directory, FILES)


@pytest.mark.parametrize("damage", [deeply, pipe, folder])
def test_a_winner_that_is_no_file_of_ours(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("INTENT_CACHE_DIR", str(tmp_path))
    path = tmp_path / "v1" / "winners" / KEY[:2] / f"{KEY}.json"
    path.parent.mkdir(parents=True)
    path.touch()
    damage(path)
    assert winners.find(KEY) is None and winners.of_program("p") == []


def test_pipes_in_the_place_of_folders_and_locks(tmp_path):
    store = ArtifactCache(tmp_path)
    (tmp_path / "v1" / "locks").mkdir(parents=True)
    (tmp_path / "v1" / KEY[:2]).mkdir()
    os.mkfifo(tmp_path / "v1" / "locks" / KEY)
    os.mkfifo(tmp_path / "v1" / KEY[:2] / KEY)
    with store.lock(KEY):
        assert store.load(KEY) is None
        store.store(KEY, FILES, {})
    assert store.load(KEY)[1] == FILES


def test_file_size_limit(tmp_path):
    """With files limited to 64 bytes nothing can be stored anywhere, and compiling goes on in memory."""
    def body():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = ArtifactCache(tmp_path / "root")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with store.lock(KEY):
                directory = store.store(KEY, FILES, {})
            store.store(OLD, FILES, {})
            assert store.load(KEY) is None and not directory.exists()
            assert store.keep_failure({"request.json": "{}" * 100}) is None
        assert len(caught) == 1

    assert child(body) == 0
    assert not list((tmp_path / "root" / "v1").glob(".new*")) and ArtifactCache(tmp_path / "root").load(KEY) is None


@pytest.mark.parametrize("full", [False, True], ids=["read-only", "full"])
def test_mounted_disk(tmp_path, full):
    """A kernel compiles with its cache on a real read-only or full file system (a tmpfs in a mount namespace, where this machine permits one)."""
    code = """
import os, sys, warnings
import numpy as np, intent, programs
scale = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)], a: I.f32', "y[:] = a * x[:]")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        k = intent.compile(scale, "host")
        x = np.arange(7, dtype=np.float32)
        y = k.run(x, 3.0)
        assert (y == 3 * x).all(), y
    assert os.path.isdir(k.cache_directory) and not k.cache_directory.startswith(os.environ["INTENT_CACHE_DIR"]), k.cache_directory
print([str(w.message) for w in caught])
"""
    tests = Path(__file__).resolve().parent
    disk = tmp_path / "disk"
    disk.mkdir()
    setup = f"mount -t tmpfs -o size=16k,nr_inodes=400 none {disk}" if full else f"mount -t tmpfs -o ro none {disk}"
    fill = f"head -c 1M /dev/zero > {disk}/filler 2>/dev/null" if full else ":"
    script = f'{setup} || exit 77; {fill}; exec {sys.executable} -c "$0"'
    environment = {**os.environ, "INTENT_CACHE_DIR": str(disk / "cache"), "PYTHONPATH": f"{tests.parent}:{tests}"}
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, code], env=environment, capture_output=True, text=True)
    if done.returncode in (77, 1) and ("unshare" in done.stderr or "mount" in done.stderr):
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cannot be written") == 1 and ("Read-only" in done.stdout) != full, done.stdout
