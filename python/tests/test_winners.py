"""Keys, counting, the cache of winners, and packs, on the host."""
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import intent
from intent import cache, cli, native
from intent.errors import ConfigurationError
from intent.runtime.host import HostProgram
from intent.tuning import keys, winners
from intent.tuning.timing import Effort
from tuned_programs import accumulate, row_softmax, scale

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
TESTS = Path(__file__).parent


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    winners.forget()
    monkeypatch.setattr("intent.tuning.timing.HostClock.__init__.__defaults__", (Effort(least=1, most=2, seconds=0.0),))


def fresh(kernel):
    return intent.generate(kernel, "host").materialize()


def files():
    return sorted((cache.configured_root() / "v1" / "winners").glob("*/*.json"))


@pytest.mark.parametrize("extent, expected", [(0, 0), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1000, 1024), (1024, 1024), (1025, 2048), (2**40 + 1, 2**41)])
def test_extent_classes(extent, expected):
    assert keys.extent_class(extent) == expected


def test_row_counts_compile_once():
    k = fresh(row_softmax)
    specialisations, tunings = set(), set()
    for m in range(1, 1001):
        x = np.zeros((m, 3), np.float32)
        k(x, np.empty_like(x))
        specialisations.add(keys.canonical(k.observation["specialisation_key"]))
        tunings.add(keys.canonical(k.observation["tuning_key"]))
    # One row has any stride between rows, which is code of its own; all other counts share theirs.
    assert k.observation["compilations"] == len(specialisations) == 2
    assert len(tunings) == 11


def test_row_lengths_compile_once_a_class():
    k = fresh(row_softmax)
    for n in range(1, 1001):
        x = np.zeros((2, n), np.float32)
        k(x, np.empty_like(x))
    classes = len({keys.extent_class(n) for n in range(1, 1001)})
    assert k.observation["compilations"] <= 2 * classes + 2


def test_addresses_and_pitches_change_nothing_on_the_host():
    k = fresh(row_softmax)
    storage = np.zeros(100000, np.float32)
    for start, pitch in [(0, 64), (1, 64), (3, 65), (16, 77)]:
        x = storage[start:start + 32 * pitch].reshape(32, pitch)[:, :61]
        k(x, np.empty((32, 61), np.float32))
    assert k.observation["compilations"] == 1


def test_a_class_is_served_by_one_winner(monkeypatch):
    monkeypatch.setenv("INTENT_TUNE", "1")
    measured = []
    original = HostProgram.measure
    monkeypatch.setattr(HostProgram, "measure", lambda self, *rest: (measured.append(1), original(self, *rest))[1])
    k = fresh(row_softmax)
    for m in range(65, 129):
        x = np.zeros((m, 100), np.float32)
        k(x, np.empty_like(x))
    assert len(measured) == 1 and len(files()) == 1
    found = k.observation
    assert found["tuning_key"]["extents"] == {"M": 128, "N": 128} and found["tuning_key"]["target"] == "host"
    assert found["specialisation_key"]["coverage"] == {"CN": 128} and "extents" not in found["specialisation_key"]
    x = np.zeros((129, 100), np.float32)
    k(x, np.empty_like(x))
    assert len(measured) == 2 and k.observation["tuning_key"]["extents"] == {"M": 256, "N": 128}


def test_another_process_and_another_object_find_the_winner(monkeypatch):
    x, acc = np.ones((40, 40), np.float32), np.zeros((40, 40), np.float32)
    k = fresh(accumulate)
    k.tune(x, acc)
    won = k.observation["winner"]
    monkeypatch.setattr(HostProgram, "measure", None)
    for _ in range(2):
        other = fresh(accumulate)
        other(x, acc)
        assert other.observation["winner"] == {**won, "source": "winner"} and other.observation["compilations"] == 1
        assert [c["seconds"] for c in other.observation["candidates"]] == [c["seconds"] for c in k.observation["candidates"]]
        winners.forget()
    program = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import numpy as np, intent
from tuned_programs import accumulate
k = intent.compile(accumulate)
x, acc = np.ones((40, 40), np.float32), np.zeros((40, 40), np.float32)
k(x, acc)
print(k.observation["winner"]["source"], k.observation["winner"]["index"], k.observation["compilations"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment())
    assert done.stdout.split() == ["winner", str(won["index"]), "1"], done.stderr


def environment():
    import os

    return {**os.environ, "PYTHONPATH": str(Path(intent.__file__).parents[1])}


@pytest.mark.parametrize("damage", [lambda t: "", lambda t: t[: len(t) // 2], lambda t: "[" * 100000, lambda t: "null", lambda t: t.replace('"index": 0', '"index": 1'), lambda t: t.replace('"winner"', '"victor"'),
                                    lambda t: "\udcff", lambda t: t.replace('"schema": 1', '"schema": 2')])
def test_damaged_entries_are_ignored_and_rebuilt(damage, monkeypatch):
    k = fresh(scale)
    k.tune(x := np.ones(500, np.float32), np.empty_like(x))
    [path] = files()
    path.write_bytes(damage(path.read_text()).encode(errors="surrogateescape"))
    winners.forget()
    monkeypatch.setenv("INTENT_TUNE", "1")
    k = fresh(scale)
    assert (k.run(x) == 2).all() and k.observation["winner"]["source"] == "measured"
    winners.forget()
    k = fresh(scale)
    assert (k.run(x) == 2).all() and k.observation["winner"]["source"] == "winner"


def test_an_entry_under_another_name_is_ignored():
    k = fresh(scale)
    k.tune(x := np.ones(500, np.float32))
    [path] = files()
    text = path.read_text()
    k.tune(np.ones(5000, np.float32))
    other = next(p for p in files() if p != path)
    other.write_text(text)
    winners.forget()
    k = fresh(scale)
    k.run(np.ones(5000, np.float32))
    assert k.observation["winner"]["source"] == "first"
    k.run(x)
    assert k.observation["winner"]["source"] == "winner"


def test_a_changed_table_has_winners_of_its_own(tmp_path):
    k = fresh(scale)
    k.tune(np.ones(500, np.float32))
    table = tmp_path / "t.json"
    table.write_text(json.dumps({"host": {k.metadata["variants"][0]["family"]: [[1, 256, 256, 1, 256, 64, 1], [1, 512, 256, 1, 256, 64, 1]]}}))
    other = intent.generate(scale, "host", tuning_config=str(table)).materialize()
    other.run(np.ones(500, np.float32))
    assert other.observation["winner"]["source"] == "first"


def test_concurrent_writers():
    """Many threads and processes write the same entry: what is read is whole at any moment."""
    k = fresh(scale)
    k.tune(np.ones(500, np.float32))
    [path] = files()
    winner = winners.decode(path.read_text())
    stop, bad = threading.Event(), []

    def reader():
        while not stop.is_set():
            try:
                if winners.decode(path.read_text()).key != winner.key:
                    bad.append("another key")
            except ValueError as error:
                bad.append(error)

    threads = [threading.Thread(target=reader) for _ in range(2)]
    [t.start() for t in threads]
    writers = [threading.Thread(target=lambda: [winners.keep(winner) for _ in range(40)]) for _ in range(4)]
    program = f"from intent.tuning import winners\nw = winners.decode(open({str(path)!r}).read())\nfor _ in range(100): winners.keep(w)"
    children = [subprocess.Popen([sys.executable, "-c", program], env=environment()) for _ in range(2)]
    [t.start() for t in writers]
    [t.join() for t in writers]
    assert [child.wait(60) for child in children] == [0, 0]
    stop.set()
    [t.join() for t in threads]
    assert not bad and [p.name for p in path.parent.iterdir()] == [path.name]


def test_an_unusable_folder_means_memory_alone(own_cache, monkeypatch):
    k = fresh(scale)
    (own_cache / "v1" / "winners").write_text("in the way")
    k.tune(x := np.ones(500, np.float32))
    other = fresh(scale)
    other.run(x)
    assert other.observation["winner"]["source"] == "winner"


def test_packs_move_winners(tmp_path, monkeypatch):
    k, pack = fresh(row_softmax), tmp_path / "softmax.pack"
    with pytest.raises(ConfigurationError, match="no winner of 'row_softmax' for host is known"):
        k.export_winners(pack)
    for n in (64, 300):
        k.tune(np.ones((16, n), np.float32))
    assert k.export_winners(pack) == 2
    monkeypatch.setenv("INTENT_CACHE_DIR", str(tmp_path / "elsewhere"))
    other = fresh(row_softmax)
    x = np.ones((16, 64), np.float32)
    other.run(x)
    assert other.observation["winner"]["source"] == "first"
    assert other.import_winners(pack) == 2
    other.run(x)
    assert other.observation["winner"]["source"] == "winner" and other.observation["winner"]["measured"]


def forged(pack, **changes):
    """A pack with valid checksums whose winners say something else."""
    document = json.loads(pack.read_text())
    body = {**document["winners"][0]["winner"], **changes}
    document["winners"] = [json.loads(winners.encode(winners.Winner(**body)))]
    return json.dumps(document)


@pytest.mark.parametrize("change, reason", [
    (lambda p: forged(p, device="PDP-11, 1 cores"), "foreign pack: expected device .*, got 'PDP-11, 1 cores'"),
    (lambda p: forged(p, target="triton:sm_90"), "foreign pack: expected target 'host', got 'triton:sm_90'"),
    (lambda p: forged(p, kernel="relu"), "foreign pack: expected winners of 'scale', got 'relu'"),
    (lambda p: forged(p, provider="host 0.0.1"), "stale pack: expected provider .*, got 'host 0.0.1'"),
    (lambda p: forged(p, program="00"), "stale pack: 'scale' or its configuration rows have changed since"),
    (lambda p: p.read_text().replace('"measured": true', '"measured": false'), "entry 0 is damaged: the checksum"),
    (lambda p: p.read_text()[:-30], "no winner pack"),
    (lambda p: "[]", "no winner pack"),
    (lambda p: "[" * 100000, "no winner pack"),
    (lambda p: p.read_text().replace('"schema": 1', '"schema": 7'), "expected pack schema 1, got 7"),
    (lambda p: json.dumps({**json.loads(p.read_text()), "winners": []}), "the pack holds no winner"),
])
def test_stale_and_foreign_packs_are_refused(tmp_path, change, reason, monkeypatch):
    k, pack = fresh(scale), tmp_path / "scale.pack"
    k.tune(x := np.ones(100, np.float32))
    k.export_winners(pack)
    pack.write_text(change(pack))
    monkeypatch.setenv("INTENT_CACHE_DIR", str(tmp_path / "elsewhere"))
    other = fresh(scale)
    with pytest.raises(ConfigurationError, match=reason) as raised:
        other.import_winners(pack)
    assert raised.value.source == str(pack)
    other.run(x)
    assert other.observation["winner"]["source"] == "first"


def test_unreadable_and_unwritable_packs(tmp_path):
    k = fresh(scale)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        k.import_winners(tmp_path / "none")
    k.tune(np.ones(100, np.float32))
    with pytest.raises(ConfigurationError, match="cannot be written: No such file"):
        k.export_winners(tmp_path / "no" / "folder")


def test_command_line(tmp_path, capsys, monkeypatch):
    place, pack = f"{TESTS / 'tuned_programs.py'}:row_softmax", str(tmp_path / "p")
    assert cli.main(["tune", place, "--shape", "M=9", "--shape", "N=77", "--export", pack]) == 0
    out = capsys.readouterr()
    assert "row_softmax on host: measured" in out.out and "1 winner written" in out.out and out.err == ""
    assert len([line for line in out.out.splitlines() if line.startswith("* resident")]) == 1
    monkeypatch.setenv("INTENT_CACHE_DIR", str(tmp_path / "elsewhere"))
    winners.forget()
    assert cli.main(["tune", place, "--import", pack]) == 0
    assert "1 winner taken" in capsys.readouterr().out
    assert cli.main(["tune", f"{TESTS / 'tuned_programs.py'}:scale", "--import", pack]) == 1
    assert "foreign pack: expected winners of 'scale', got 'row_softmax'" in capsys.readouterr().err
    assert cli.main(["tune", place]) == 1
    assert "--shape M=... --shape N=..." in capsys.readouterr().err
    assert cli.main(["tune", place, "--import", pack, "--scalar", "a=1"]) == 1
    assert "only with --shape" in capsys.readouterr().err


def test_without_a_device(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("a GPU is visible")
    place, pack = f"{TESTS / 'tuned_programs.py'}:row_softmax", str(tmp_path / "p")
    for command in (["tune", place, "--shape", "M=9", "--shape", "N=77"], ["tune", place, "--import", pack], ["run", place, "--shape", "M=9", "--shape", "N=77"]):
        assert cli.main([*command, "--target", "triton:sm_90"]) == 1
        assert "running on triton:sm_90 needs a device, and none is visible to torch [hardware_capability]" in capsys.readouterr().err


def test_progress_shows_on_a_terminal_only():
    import io

    from intent.tuning.progress import Progress, format_seconds

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        with Progress("softmax", 8, stream) as progress:
            progress.compiling()
            progress.measuring(3, 12.34e-6)
        text = stream.getvalue()
        assert ("candidate 3/8, best 12.3 us" in text and text.endswith("\r\x1b[K")) == shown and bool(text) == shown
    assert [format_seconds(s) for s in (1e-6, 0.0456, 1.23)] == ["1 us", "45.6 ms", "1.23 s"]
