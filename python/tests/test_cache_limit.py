"""The size limit of the artifact cache: what counts, what leaves first, and that many processes together keep it."""
import os
import re
import shutil
import warnings

import pytest

import intent
from intent import cache, eviction
from intent.cache import ArtifactCache

BLOCK = 4096
FILES = {"source.py": "x" * 100}  # an entry counts three blocks: the folder, this file, the manifest


def key(n) -> str:
    return f"{n:064x}"


def disk_use(root) -> int:
    """The sizes of all files of entries, failures and staging folders, in whole blocks, worked out from the file system."""
    total = 0
    for folder, folders, files in os.walk(root / "v1"):
        folders[:] = [name for name in folders if name not in ("locks", "winners")]
        for name in files:
            try:
                total += -(-os.stat(os.path.join(folder, name)).st_size // BLOCK) * BLOCK
            except FileNotFoundError:
                pass
    return total


def present(store) -> set:
    return {int(path.name, 16) for path in store.root.glob("v1/??/*")}


@pytest.mark.parametrize("text, bytes_", [("1000", 1000), ("3K", 3072), ("2m", 2 << 20), (" 4 G ", 4 << 30), ("1TiB", 1 << 40), ("5MB", 5 << 20), ("0", 0), ("unlimited", None), ("", 4 << 30), (None, 4 << 30)])
def test_limit_texts(monkeypatch, text, bytes_):
    monkeypatch.delenv("INTENT_CACHE_LIMIT", raising=False)
    if text is not None:
        monkeypatch.setenv("INTENT_CACHE_LIMIT", text)
    assert eviction.configured_limit() == bytes_


@pytest.mark.parametrize("text", ["-1", "1.5G", "lots", "4X", "9" * 30, "٣"])
def test_unreadable_limits(monkeypatch, tmp_path, text):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", text)
    with pytest.raises(intent.ConfigurationError, match=re.escape(f"INTENT_CACHE_LIMIT: expected a number of bytes such as 500M or 4G, or 'unlimited', got {text!r}")):
        ArtifactCache(tmp_path).store(key(1), FILES, {})


def test_what_was_used_longest_ago_leaves_first(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(10 * 3 * BLOCK))
    store = ArtifactCache(tmp_path)
    for n in range(10):
        os.utime(store.store(key(n), FILES, {}), ns=(0, n))
    assert present(store) == set(range(10))
    store.load(key(0))
    store.load(key(3))
    store.store(key(10), FILES, {})  # down to nine tenths of the limit: two leave
    assert present(store) == {0, 3, 4, 5, 6, 7, 8, 9, 10}
    store.store(key(11), FILES, {})
    assert present(store) == {0, 3, 4, 5, 6, 7, 8, 9, 10, 11}


def test_failures_count_and_leave_too(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(4 * 2 * BLOCK))
    store = ArtifactCache(tmp_path)
    kept = [store.keep_failure({"request.json": str(n)}) for n in range(20)]
    assert sum(folder.is_dir() for folder in kept) <= 4 and kept[-1].is_dir()
    assert store.keep_failure({"request.json": "x" * 100_000}) is None


def test_an_entry_above_the_limit_lives_as_long_as_the_process(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", "2K")
    store = ArtifactCache(tmp_path / "c")
    with pytest.warns(RuntimeWarning, match="too large for the artifact cache.*above the limit of 2048") as caught:
        directory = store.store(key(1), FILES, {})
        store.store(key(2), FILES, {})
    assert len(caught) == 1 and not present(store)
    assert store.load(key(1)) == (directory, FILES)
    monkeypatch.setenv("INTENT_CACHE_LIMIT", "1M")
    assert store.store(key(3), FILES, {}).is_relative_to(tmp_path / "c")


def test_unlimited_keeps_everything(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", "unlimited")
    store = ArtifactCache(tmp_path)
    for n in range(50):
        store.store(key(n), FILES, {})
    assert present(store) == set(range(50))


@pytest.mark.parametrize("ledger", [b"", b"junk", b"%020d\n" % 0, b"%020d" % 10**19, None])
def test_a_lost_total_is_counted_again(monkeypatch, tmp_path, ledger):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(5 * 3 * BLOCK))
    store = ArtifactCache(tmp_path)
    for n in range(5):
        store.store(key(n), FILES, {})
    usage = tmp_path / "v1" / "locks" / "usage"
    usage.unlink() if ledger is None else usage.write_bytes(ledger)
    for n in range(5, 20):
        store.store(key(n), FILES, {})
    if ledger != b"%020d\n" % 0:  # a total that is too low allows one limit more, until it is reached
        assert len(present(store)) <= 5
    assert len(present(store)) <= 10 and 19 in present(store)


def test_what_a_dead_process_was_writing_counts_for_an_hour(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(4 * 3 * BLOCK))
    store = ArtifactCache(tmp_path)
    left = eviction.stage(tmp_path / "v1", 2 * 3 * BLOCK)
    for n in range(6):
        store.store(key(n), FILES, {})
    assert left.is_dir() and len(present(store)) <= 2
    os.utime(left, ns=(0, 0))
    for n in range(6, 12):
        store.store(key(n), FILES, {})
    assert not left.exists() and len(present(store)) >= 3


def test_locks_of_evicted_entries_go(monkeypatch, tmp_path):
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(3 * 3 * BLOCK))
    store = ArtifactCache(tmp_path)
    with store.lock(key(99)):
        for n in range(12):
            with store.lock(key(n)):
                store.store(key(n), FILES, {})
        locks = {path.name for path in (tmp_path / "v1" / "locks").iterdir()}
        assert key(99) in locks and len(locks) <= 3 + 3


def test_a_removed_lock_file_is_taken_anew(tmp_path):
    store = ArtifactCache(tmp_path)
    path = tmp_path / "v1" / "locks" / key(1)
    with store.lock(key(1)):
        path.unlink()
        with store.lock(key(1)):  # a file of its own; the removed one locks nothing for others
            assert path.is_file()


def many(count, body) -> None:
    """Runs `body(n)` in forked processes that start together; all must return."""
    gate, starter = os.pipe()
    pids = []
    for n in range(count):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(starter)
                os.read(gate, 1)  # until the parent closes its end
                body(n)
                status = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(status)
        pids.append(pid)
    os.close(starter)
    os.close(gate)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * count


def test_processes_together_keep_the_limit(monkeypatch, tmp_path):
    limit = 12 * 3 * BLOCK
    monkeypatch.setenv("INTENT_CACHE_LIMIT", str(limit))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def body(n):
        store = ArtifactCache(tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for i in range(30):
                at = key((n * 7 + i * 3) % 40)
                with store.lock(at):
                    found = store.load(at)
                    if found is None:
                        directory = store.store(at, FILES, {})
                        assert directory.is_relative_to(tmp_path)
                    else:
                        assert found[1] == FILES
                assert disk_use(tmp_path) <= limit

    many(8, body)
    store = ArtifactCache(tmp_path)
    assert disk_use(tmp_path) <= limit and len(present(store)) >= 8
    assert all(store.load(key(n))[1] == FILES for n in present(store))


def test_the_root_may_be_removed_at_any_time(tmp_path):
    store = ArtifactCache(tmp_path / "c")
    store.store(key(1), FILES, {})
    shutil.rmtree(tmp_path / "c")
    with store.lock(key(1)):
        assert store.load(key(1)) is None
        store.store(key(1), FILES, {})
    assert store.load(key(1))[1] == FILES


def test_an_evicted_program_still_has_its_source(tmp_path):
    import programs

    k = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = x[:] + 1.0")
    program = intent.generate(k, "triton:sm_90")
    shutil.rmtree(program.cache_directory)
    assert program.source_path.read_text() == program.source
    assert program.source_path == program.source_path


def test_entries_in_use_are_recent(monkeypatch):
    """Each compilation that the process remembers refreshes the entry's time."""
    import programs

    k = programs.kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = x[:] + 2.0")
    directory = intent.compile(k).cache_directory
    os.utime(directory, ns=(0, 0))
    assert intent.compile(k).cache_directory == directory
    assert os.stat(directory).st_mtime_ns > 0


assert cache.SCHEMA == "v1"
