"""The artifact cache: complete entries or none, damage noticed, failures apart, an unusable root survived."""
import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from intent import cache
from intent.cache import ArtifactCache

KEY = "ab" + "0" * 62
FILES = {"input.kir.mlir": "kir\n", "source.py": "print('ä')\n"}


def test_root_rules(monkeypatch, tmp_path):
    monkeypatch.delenv("INTENT_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.configured_root() == tmp_path / ".cache" / "intentdsl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.configured_root() == tmp_path / "xdg" / "intentdsl"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.configured_root() == tmp_path / ".cache" / "intentdsl"
    monkeypatch.setenv("INTENT_CACHE_DIR", str(tmp_path / "mine"))
    assert cache.configured_root() == tmp_path / "mine"


def test_store_and_load(tmp_path):
    store = ArtifactCache(tmp_path / "c")
    assert store.load(KEY) is None
    directory = store.store(KEY, FILES, {"target": "host"})
    assert directory == tmp_path / "c" / "v1" / "ab" / KEY
    assert sorted(p.name for p in directory.iterdir()) == ["input.kir.mlir", "manifest.json", "source.py"]
    assert store.load(KEY) == (directory, FILES)
    assert json.loads((directory / "manifest.json").read_text())["target"] == "host"
    assert store.store(KEY, FILES, {}) == directory
    assert [p.name for p in (tmp_path / "c" / "v1").iterdir() if p.name != "locks"] == ["ab"]  # nothing private is left


@pytest.mark.parametrize("damage", [lambda d: (d / "source.py").write_text("other"), lambda d: (d / "source.py").unlink(), lambda d: (d / "manifest.json").unlink(),
                                    lambda d: (d / "manifest.json").write_text("{"), lambda d: (d / "manifest.json").write_text('{"key": 1, "files": []}'),
                                    lambda d: (d / "manifest.json").write_text(json.dumps({"key": KEY, "files": [1]})), lambda d: (d / "source.py").write_bytes(b"")])
def test_damage_is_rebuilt(tmp_path, damage):
    store = ArtifactCache(tmp_path)
    directory = store.store(KEY, FILES, {})
    damage(directory)
    assert store.load(KEY) is None
    store.store(KEY, FILES, {})
    assert store.load(KEY) == (directory, FILES)


def test_publishing_over_a_damaged_entry(tmp_path):
    store = ArtifactCache(tmp_path)
    directory = store.store(KEY, FILES, {})
    (directory / "source.py").write_text("other")
    store.store(KEY, FILES, {})  # without a load that would have seen the damage
    assert store.load(KEY) == (directory, FILES)
    assert sorted(p.name for p in (tmp_path / "v1").iterdir()) == ["ab", "locks"]


def test_entry_of_another_key_is_not_taken(tmp_path):
    store = ArtifactCache(tmp_path)
    other = "ab" + "1" * 62
    store.store(KEY, FILES, {}).rename(tmp_path / "v1" / "ab" / other)
    assert store.load(other) is None


def test_failures_are_kept_apart(tmp_path):
    store = ArtifactCache(tmp_path)
    kept = store.keep_failure({"request.json": "{}", "diagnostics.json": "[]"})
    assert kept.parent == tmp_path / "v1" / "failed" and (kept / "request.json").read_text() == "{}"
    assert store.load(kept.name) is None


def unusable(tmp_path):
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "root"


def test_unusable_root_degrades_with_one_warning(tmp_path):
    store = ArtifactCache(unusable(tmp_path))
    with pytest.warns(RuntimeWarning, match="cannot be written") as caught:
        directory = store.store(KEY, FILES, {})
        store.store("cd" + KEY[2:], FILES, {})
    assert len(caught) == 1 and directory.is_dir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.load(KEY) == (directory, FILES)
        assert store.keep_failure({"request.json": "{}"}).is_dir()


def test_temporary_root_lives_as_long_as_the_process(tmp_path):
    code = "import warnings; warnings.simplefilter('ignore'); from intent.cache import ArtifactCache; import sys; print(ArtifactCache(sys.argv[1]).store('ab' * 32, {'a': ''}, {}), flush=True)"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code, str(unusable(tmp_path))], env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() and not Path(done.stdout.strip()).exists()


def test_concurrent_writers_and_readers(tmp_path):
    store, seen = ArtifactCache(tmp_path), []

    def work():
        for _ in range(5):
            store.store(KEY, FILES, {})
            seen.append(store.load(KEY)[1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert seen == [FILES] * 20


def test_digest_keeps_parts_apart():
    assert cache.digest(b"ab", b"c") != cache.digest(b"a", b"bc") != cache.digest(b"abc")
