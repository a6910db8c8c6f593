"""Tuning on the host: the caller's memory is as if the winner had run once, whatever happens to the other candidates."""
import json
import os
import threading
import time

import numpy as np
import pytest

import intent
from intent import native
from intent.errors import ConfigurationError, ProviderError
from intent.runtime.host import HostProgram
from intent.tuning import trials, winners
from intent.tuning.timing import Effort, HostClock
from tuned_programs import accumulate, count, product, row_softmax, scale

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A process without winners, whose kernels tune at their first call, with few repetitions."""
    winners.forget()
    monkeypatch.setenv("INTENT_TUNE", "1")
    monkeypatch.setattr("intent.tuning.timing.HostClock.__init__.__defaults__", (Effort(least=2, most=3, seconds=0.0),))


def fresh(kernel):
    """A compiled kernel that shares nothing with earlier tests but the process."""
    return intent.generate(kernel, "host").materialize()


def statuses(k):
    return [entry["status"] for entry in k.observation["candidates"]]


def test_inout_accumulates_once():
    k = fresh(accumulate)
    x, acc = np.full((61, 67), 1.0, np.float32), np.full((61, 67), 5.0, np.float32)
    k(x, acc)
    assert (acc == 6.0).all()
    found = k.observation
    assert sorted(statuses(k)) == ["chosen"] + ["measured"] * (len(statuses(k)) - 1) and len(statuses(k)) > 1
    assert all(entry["seconds"] > 0 for entry in found["candidates"])
    assert found["winner"]["source"] == "measured" and found["compilations"] == len(statuses(k))
    assert min(found["candidates"], key=lambda entry: entry["seconds"])["index"] == found["winner"]["index"]
    k(x, acc)
    assert (acc == 7.0).all() and k.observation["compilations"] == found["compilations"]


def test_every_trial_starts_from_the_callers_contents(monkeypatch):
    """Each timed run sees the caller's values, and none of them runs on the caller's memory."""
    k = fresh(accumulate)
    x, acc = np.ones((8, 128), np.float32), np.arange(1024, dtype=np.float32).reshape(8, 128)
    before, seen = acc.copy(), []
    original = HostClock.measure

    def spying(self, run, restore, best=None):
        bound = run.keep[0]

        def checked():
            trial = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 1024).from_address(bound.pointers[1]))
            seen.append((bound.pointers[1] == acc.ctypes.data, np.array_equal(trial, before.reshape(-1)), np.array_equal(acc, before)))
            run()

        return original(self, checked, restore, best)

    monkeypatch.setattr(HostClock, "measure", spying)
    k(x, acc)
    assert np.array_equal(acc, before + 1)
    assert len(seen) >= 3 * len(statuses(k)) - 2 and set(seen) == {(False, True, True)}


def test_run_prepare_and_tune():
    k = fresh(scale)
    x = np.arange(1009, dtype=np.float32)
    assert np.array_equal(k.run(x), 2 * x)
    k = fresh(accumulate)
    x, acc = np.ones((3, 5), np.float32), np.zeros((3, 5), np.float32)
    k.tune(x, acc)
    assert (acc == 0).all() and k.observation["winner"]["measured"]
    prepared = k.prepare(x, acc)
    assert (acc == 0).all()
    prepared.launch()
    prepared.launch()
    assert (acc == 2).all()


def test_the_host_takes_the_first_row_without_being_asked(monkeypatch):
    monkeypatch.delenv("INTENT_TUNE")
    k = fresh(row_softmax)
    x = np.ones((4, 64), np.float32)
    np.testing.assert_allclose(k.run(x), 1 / 64, rtol=1e-6)
    assert k.observation["winner"]["source"] == "first" and k.observation["winner"]["index"] == 0 and not k.observation["winner"]["measured"]
    assert k.observation["compilations"] == 1 and "untried" in statuses(k) and "other_variant" in statuses(k)
    k.tune(x)
    k.run(x)
    assert k.observation["winner"]["measured"]
    monkeypatch.setenv("INTENT_TUNE", "yes")
    with pytest.raises(ConfigurationError, match="INTENT_TUNE: expected 0 or 1, got 'yes'"):
        fresh(scale).run(x[0])


def test_rows_whose_condition_fails_are_left_out():
    k = fresh(row_softmax)
    wide = [c for c in k.metadata["candidates"] if c["variant"] == "resident" and c["where"]]
    assert wide
    k.run(np.ones((2, 32768), np.float32))
    listed = {(c["variant"], c["index"]): c["status"] for c in k.observation["candidates"]}
    assert all(listed["resident", c["index"]] not in ("chosen", "measured") for c in wide)
    k.run(np.ones((2, 128), np.float32))
    listed = {(c["variant"], c["index"]): c["status"] for c in k.observation["candidates"]}
    assert all(listed["resident", c["index"]] in ("chosen", "measured") for c in wide)


def test_atomic_counters_count_once():
    k = fresh(count)
    x, total = np.arange(1, 1010, dtype=np.int32), np.array([10, 20, 30, -40, 7], np.int32)
    before = total.copy()
    k.tune(x, total)
    assert np.array_equal(total, before)
    k(x, total)
    assert np.array_equal(total[:4] - before[:4], [x[i::4].sum() for i in range(4)]) and total[4] == 7
    assert k.observation["winner"]["measured"] or len(statuses(k)) == 1


@pytest.mark.parametrize("place", ["overlapping", "slice", "reversed", "identical", "column"])
def test_views_that_share_memory(place):
    """Aliases are the same in trials: in and out of one storage give what one run gives, bit for bit."""
    k = fresh(accumulate)
    storage = np.random.default_rng(3).standard_normal(5000).astype(np.float32)
    pick = {
        "overlapping": lambda s: (s[0:2000:2].reshape(20, 50), s[1:2001:2].reshape(20, 50)),
        "slice": lambda s: (s[4000:5000].reshape(20, 50), s[1500:2500].reshape(20, 50)),
        "reversed": lambda s: (s[1000:2000][::-1].reshape(20, 50), s[3000:4000][::-1].reshape(20, 50)),
        "identical": lambda s: (s[:1000].reshape(20, 50), s[:1000].reshape(20, 50)),
        "column": lambda s: (s.reshape(100, 50)[:, 3:10], s.reshape(100, 50)[:, 20:27]),
    }[place]
    expected = storage.copy()
    x, acc = pick(expected)
    acc[...] = acc + x
    before = storage.copy()
    x, acc = pick(storage)
    k.tune(x, acc)
    assert np.array_equal(storage, before)
    k(x, acc)
    assert np.array_equal(storage, expected) and k.observation["winner"]["measured"]


def test_trial_layout():
    """What is copied: only memory that is written, views that meet as one block, with distances and address residues kept."""
    k = fresh(accumulate)
    storage = np.zeros(20000, np.float32)
    x, acc = storage[3:1003:1].reshape(10, 100), storage[10000:11000].reshape(10, 100)
    bound = k._plan.bind([x, acc])
    blocks = trials.blocks_of(k._plan, bound)
    assert [(b.source, b.size, b.contents, b.views) for b in blocks] == [(acc.ctypes.data, 4000, True, [1])]
    state = trials.TrialState(k._plan, bound, trials.HostMemory())
    assert state.bound.pointers[0] == x.ctypes.data and state.bound.pointers[1] != acc.ctypes.data
    assert (state.bound.pointers[1] - acc.ctypes.data) % trials.ALIGNMENT == 0 and state.restores
    x, acc = storage[0:2000:2].reshape(10, 100)[::-1], storage[1:2001:2].reshape(10, 100)
    bound = k._plan.bind([x, acc])
    state = trials.TrialState(k._plan, bound, trials.HostMemory())
    assert state.bound.pointers[0] - state.bound.pointers[1] == x.ctypes.data - acc.ctypes.data and state.bound.pointers[0] != x.ctypes.data
    # An Out is undefined until written: nothing is to be restored.
    k = fresh(scale)
    state = trials.TrialState(k._plan, k._plan.bind([storage[:5], storage[100:105]]), trials.HostMemory())
    assert not state.restores


class Placed:
    """A bound call of views at addresses: what trial state looks at."""

    def __init__(self, spans, pointers):
        self.pointers, self.values, self.symbols = pointers, [], {}
        self.layout = type("Layout", (), {"spans": spans})()


def test_random_placements():
    """Whatever the views: those that a write can reach move together and keep distances; all others stay; blocks do not meet."""
    rng = np.random.default_rng(11)
    storage = np.arange(400, dtype=np.uint8)
    base = storage.ctypes.data
    for _ in range(500):
        count = rng.integers(1, 6)
        accesses = rng.choice(["in", "out", "inout"], count)
        plan = type("Plan", (), {"views": [(i, type("V", (), {"access": a})()) for i, a in enumerate(accesses)]})()
        starts, lengths, lows = rng.integers(40, 300, count), rng.choice([0, 1, 7, 30, 60], count), rng.integers(0, 2, count)
        spans = [(-int(n // 2) if low else 0, int(n) - (int(n // 2) if low else 0)) for n, low in zip(lengths, lows)]
        call = Placed(spans, [base + int(s) for s in starts])
        state = trials.TrialState(plan, call, trials.HostMemory())
        covered = [set(range(p + low, p + high)) for p, (low, high) in zip(call.pointers, spans)]
        moved = [trial - own for trial, own in zip(state.bound.pointers, call.pointers)]
        for i in range(count):
            assert not covered[i] or accesses[i] == "in" or moved[i] != 0
            assert moved[i] % trials.ALIGNMENT == 0
            for j in range(count):
                if covered[i] & covered[j] and "in" in (accesses[i], accesses[j]) and accesses[i] != accesses[j] or covered[i] & covered[j] and accesses[i] != "in":
                    assert moved[i] == moved[j]
        reached = set().union(*(c for c, a in zip(covered, accesses) if a != "in"))
        for i in range(count):
            if accesses[i] == "in" and moved[i]:
                low, high = min(covered[i]), max(covered[i]) + 1
                group = [c for k, c in enumerate(covered) if c and moved[k] == moved[i]]
                assert any(c & reached for c in group) and set(range(low, high)) == covered[i]
        state.restore()
        for i in range(count):
            low, high = spans[i]
            if accesses[i] == "inout" and low < high:
                trial = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * (high - low)).from_address(state.bound.pointers[i] + low))
                assert np.array_equal(trial, storage[starts[i] + low:starts[i] + high])


def test_size_zero_and_one():
    k = fresh(accumulate)
    for shape in [(0, 7), (5, 0), (1, 1), (3, 0), (1, 997)]:
        x, acc = np.ones(shape, np.float32), np.full(shape, np.float32(-0.0))
        k(x, acc)
        assert np.array_equal(acc, np.ones(shape)), shape
    k(np.array([[np.nan, np.inf, -0.0]], np.float32), found := np.array([[1.0, -np.inf, -0.0]], np.float32))
    assert np.isnan(found[0, :2]).all() and found[0, 2] == 0 and np.signbit(found[0, 2])


def test_one_empty_extent():
    k = fresh(product)
    for m, inner, n in ((0, 4, 5), (3, 0, 5), (3, 4, 0)):
        assert np.array_equal(k.run(np.ones((m, inner), np.float32), np.ones((inner, n), np.float32)), np.zeros((m, n))) and k.observation["winner"]["source"] == "first"
    total = np.ones(5, np.int32)
    fresh(count)(np.ones(0, np.int32), total)
    assert (total == 1).all()


def failing(monkeypatch, method, rows, error):
    """Makes a step of the host runtime fail for these rows."""
    original = getattr(HostProgram, method)

    def step(self, first, row, *rest):
        row_number = row if isinstance(row, int) else 0
        if row_number in rows:
            if method == "_generate":
                return error
            raise error
        return original(self, first, row, *rest)

    monkeypatch.setattr(HostProgram, method, step)


def test_a_candidate_that_does_not_compile_is_recorded(monkeypatch):
    failing(monkeypatch, "_generate", {0}, ProviderError("the host compilation failed: out of luck"))
    k = fresh(accumulate)
    x, acc = np.ones((9, 9), np.float32), np.zeros((9, 9), np.float32)
    k(x, acc)
    assert (acc == 1).all()
    first = k.observation["candidates"][0]
    assert first["status"] == "failed" and "out of luck" in first["reason"] and k.observation["winner"]["index"] != 0


def test_no_candidate_compiles(monkeypatch):
    failing(monkeypatch, "_generate", set(range(9)), ProviderError("the host compilation failed: out of luck"))
    for tuned in ("1", "0"):
        monkeypatch.setenv("INTENT_TUNE", tuned)
        k = fresh(accumulate)
        x, acc = np.ones((9, 9), np.float32), np.zeros((9, 9), np.float32)
        with pytest.raises(ProviderError) as raised:
            k(x, acc)
        assert (acc == 0).all() and len(raised.value.candidates) == len(k.metadata["candidates"]) and "out of luck" in str(raised.value)
        assert raised.value.original is raised.value.__cause__ is not None


def test_a_candidate_that_fails_while_running_stops_the_tuning(monkeypatch):
    original = HostProgram.prepare
    boom = ProviderError("the host launch failed: something broke")

    def prepare(self, bound, row=None):
        run = original(self, bound, row)
        if row != 1:
            return run

        def broken():
            run()  # the trial's memory is written before it fails
            raise boom

        broken.keep = run.keep
        return broken

    monkeypatch.setattr(HostProgram, "prepare", prepare)
    k = fresh(accumulate)
    x, acc = np.ones((9, 9), np.float32), np.zeros((9, 9), np.float32)
    with pytest.raises(ProviderError, match="candidate 1 of .* failed in a trial") as raised:
        k(x, acc)
    assert raised.value.original is boom and raised.value.__cause__ is boom and (acc == 0).all() and (x == 1).all()
    assert not winners.of_program(k._tuner.program)
    monkeypatch.setattr(HostProgram, "prepare", original)
    k(x, acc)
    assert (acc == 1).all()


def test_interruption_in_the_middle(monkeypatch):
    k = fresh(accumulate)
    x, acc = np.ones((50, 50), np.float32), np.arange(2500, dtype=np.float32).reshape(50, 50)
    before = acc.copy()
    original, measured = HostClock.measure, []

    def measure(self, run, restore, best=None):
        if measured:
            run()
            raise KeyboardInterrupt
        measured.append(original(self, run, restore, best))
        return measured[0]

    monkeypatch.setattr(HostClock, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        k(x, acc)
    assert np.array_equal(acc, before)
    monkeypatch.setattr(HostClock, "measure", original)
    k(x, acc)
    assert np.array_equal(acc, before + 1)


def test_a_signal_during_a_trial():
    """Ctrl-C while native code of a trial runs: the call ends, the arguments are untouched."""
    import signal

    k = fresh(accumulate)
    x, acc = np.ones((3000, 3000), np.float32), np.zeros((3000, 3000), np.float32)
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.15, lambda: os.kill(os.getpid(), signal.SIGINT))
    slow = HostClock(Effort(least=10**6, most=10**6, seconds=60.0, longest=60.0))
    try:
        with pytest.raises(KeyboardInterrupt), pytest.MonkeyPatch.context() as patch:
            patch.setattr("intent.tuning.timing.HostClock.__init__", lambda self, effort=None: setattr(self, "effort", slow.effort))
            timer.start()
            k(x, acc)
    finally:
        timer.cancel()
        time.sleep(0.2)
        signal.signal(signal.SIGINT, previous)
    assert (acc == 0).all() and (x == 1).all()


def test_copies_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(trials, "_available", lambda: 1000)
    k = fresh(accumulate)
    x, acc = np.ones((30, 30), np.float32), np.zeros((30, 30), np.float32)
    with pytest.warns(RuntimeWarning, match="accumulate is not tuned: copies of its written arguments do not fit"):
        k(x, acc)
    assert (acc == 1).all() and k.observation["winner"]["index"] == 0 and k.observation["winner"]["source"] == "memory"
    assert not winners.of_program(k._tuner.program)
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        k(np.ones((300, 300), np.float32), np.zeros((300, 300), np.float32))  # warned once


def test_one_candidate_is_launched_untimed(monkeypatch):
    monkeypatch.setattr(HostClock, "measure", None)
    path = "one.json"
    k = fresh(accumulate)
    table = {"host": {k.metadata["variants"][0]["family"]: [[1, 4096, 4096, 1, 1024, 64, 1]]}}
    with pytest.MonkeyPatch.context() as patch:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            patch.chdir(folder)
            with open(path, "w") as stream:
                json.dump(table, stream)
            k = intent.generate(accumulate, "host", tuning_config=path).materialize()
    x, acc = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    k(x, acc)
    assert (acc == 1).all() and k.observation["winner"] == {**k.observation["winner"], "source": "only", "measured": False, "index": 0}


def test_effort(monkeypatch):
    """How often a candidate runs, by how long it takes."""
    from intent.tuning import timing

    for seconds, best, runs in ((0.001, None, 26), (0.004, None, 16), (0.02, None, 6), (0.3, None, 5), (5.0, None, 2), (0.02, 0.001, 2), (0.001, 0.02, 26)):
        now, log = [0.0], []
        monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

        def run():
            now[0] += seconds
            log.append("run")

        assert HostClock(Effort()).measure(run, lambda: log.append("restore"), best) == pytest.approx(seconds)
        assert log == ["restore", "run"] * runs, seconds


def test_threads_tune_once(monkeypatch):
    k = fresh(product)
    calls = []
    original = HostProgram.measure
    monkeypatch.setattr(HostProgram, "measure", lambda self, *rest: (calls.append(1), original(self, *rest))[1])
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    results: list = []
    threads = [threading.Thread(target=lambda: results.append(k.run(a, b))) for _ in range(5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(calls) == 1 and len(results) == 5
    for c in results:
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)
