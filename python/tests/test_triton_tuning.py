"""Tuning of Triton programs where no GPU is: compilation in worker processes is real, launches are stand-ins on CPU tensors."""
import contextlib
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import intent
from intent import native
from intent.errors import ProviderError, TargetError
from intent.providers import compiler_pool, triton as provider
from intent.providers.triton_runtime import TritonRuntime, autotune
from intent.runtime import kernel as kernels
from intent.tuning import keys, winners
from intent.tuning.timing import Effort, HostClock
from tuned_programs import accumulate, product, row_softmax, scale

pytestmark = pytest.mark.skipif(native.find_library("libintent.so") is None, reason="the libraries are not built")


class Launch:
    """Stands for a compiled kernel on a device: runs `action(values)` on the tensors of the call."""

    def __init__(self, action, planned):
        self.action, self.planned = action, planned

    def __call__(self, values, pointers):
        assert [v.data_ptr() for v in values if hasattr(v, "data_ptr")] == list(pointers)
        self.action(self.planned, values)

    def bind(self, values, pointers):
        return lambda: self(values, pointers)


class NoPool:
    """Compiles nothing, in no time; `fail` maps rows to exceptions."""

    def __init__(self):
        self.jobs, self.limits, self.fail = [], [], {}

    def compile(self, jobs, limit):
        self.jobs += jobs
        self.limits.append(limit)
        return [self.fail.get(len(self.jobs) - len(jobs) + i) for i in range(len(jobs))]


@pytest.fixture
def offline(monkeypatch):
    """`offline(kernel, action)` gives a kernel for sm_90 whose launches are `action(planned, values)`, and its pool."""
    winners.forget()
    monkeypatch.delenv("INTENT_TUNE", raising=False)
    pool = NoPool()
    monkeypatch.setattr(kernels, "_device_type", lambda target: "cpu")
    monkeypatch.setattr(provider, "compile_plan", lambda planned, target: object())

    def make(kernel, action=lambda planned, values: None, **options):
        class Offline(TritonRuntime):
            def _target(self):
                return provider.gpu_target("sm_90")

            def _device_number(self):
                return 0

            def _device_of(self, planned):
                return contextlib.nullcontext()

            def _loaded(self, compiled):
                return compiled

            def _launcher(self, planned, compiled):
                return Launch(action, planned)

            def _pool(self):
                return pool

            def clock(self, bound):
                return HostClock(Effort(least=2, most=3, seconds=0.0))

            def measurable(self):
                return True

            def device(self, bound):
                return "no device"

        monkeypatch.setattr(kernels, "_provider_program", lambda generated, interface: Offline(generated.source_path, generated.metadata))
        return intent.generate(kernel, "triton:sm_90", **options).materialize()

    make.pool = pool
    return make


def add(planned, values):
    values[1].add_(values[0])


def test_the_first_call_tunes_and_runs_the_winner_once(offline):
    k = offline(accumulate, add)
    x, acc = torch.ones(37, 41), torch.zeros(37, 41)
    k(x, acc)
    assert (acc == 1).all()
    found = k.observation
    count = len(k.metadata["candidates"])
    assert found["winner"]["source"] == "measured" and found["compilations"] == count == len(offline.pool.jobs) and offline.pool.limits == [60.0]
    assert all(entry["seconds"] > 0 for entry in found["candidates"])
    k(x, acc)
    assert (acc == 2).all() and k.observation["compilations"] == count


def test_the_fastest_row_wins(offline):
    def slow_but_one(planned, values):
        time.sleep(0.0 if planned.options["num_warps"] == 8 and planned.constants["BN"] == 4096 else 0.05)
        add(planned, values)

    k = offline(accumulate, slow_but_one)
    x, acc = torch.ones(64, 64), torch.zeros(64, 64)
    k(x, acc)
    values = k.observation["winner"]["values"]
    assert values["BN"] == 4096 and values["NUM_WARPS"] == 8 and (acc == 1).all()


@pytest.mark.parametrize("pick", [
    lambda s: (s[:100].view(10, 10), s[100:200].view(10, 10)), lambda s: (s[0:200:2].view(10, 10), s[1:201:2].view(10, 10)),
    lambda s: (s[:100].view(10, 10), s[:100].view(10, 10)), lambda s: (s[300:400].view(10, 10).t(), s[7:107].view(10, 10)),
    lambda s: (s[:500].view(50, 10)[::5], s[500:].view(-1, 20)[:10, 3:13])])
def test_views_that_share_memory(offline, pick):
    trials = []

    def spying(planned, values):
        trials.append((values[0].data_ptr() - values[1].data_ptr(), values[0].stride(), values[1].stride(), values[1].data_ptr()))
        add(planned, values)

    k = offline(accumulate, spying)
    storage = torch.arange(1000, dtype=torch.float32)
    expected = storage.clone()
    x, acc = pick(expected)
    acc.add_(x)
    x, acc = pick(storage)
    meet = (x.data_ptr() < acc.data_ptr() + 400 and acc.data_ptr() < x.data_ptr() + 400)
    k(x, acc)
    assert torch.equal(storage, expected)
    *tried, (distance, *strides, last) = trials
    assert last == acc.data_ptr() and all(address != last and address % 4096 == last % 4096 for *_, address in tried)
    assert all(own == strides for _, *own, _ in tried)
    assert not meet or all(own == distance for own, *_ in tried)


def test_a_failing_trial_and_an_interruption(offline):
    state = {"calls": 0, "raise": ValueError("illegal address")}

    def breaking(planned, values):
        state["calls"] += 1
        add(planned, values)
        if state["calls"] == 5 and state["raise"]:
            raise state["raise"]

    k = offline(accumulate, breaking)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    with pytest.raises(ProviderError, match="failed in a trial") as raised:
        k(x, acc)
    assert raised.value.original is state["raise"] and (acc == 0).all() and (x == 1).all()
    state.update(calls=0, **{"raise": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        k(x, acc)
    assert (acc == 0).all()
    state["raise"] = None
    k(x, acc)
    assert (acc == 1).all()


def test_rows_that_do_not_compile(offline):
    offline.pool.fail = {0: RuntimeError("PTXAS failed"), 2: TargetError("compilation took longer than 60 s", category="lower_compilation_cost")}
    k = offline(accumulate, add)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    k(x, acc)
    listed = k.observation["candidates"]
    assert (acc == 1).all() and [c["index"] for c in listed if c["status"] == "failed"] == [0, 2]
    assert "PTXAS failed" in listed[0]["reason"] and "[lower_compilation_cost]" in listed[2]["reason"]


def test_no_row_compiles(offline):
    k = offline(accumulate, add)
    count = len(k.metadata["candidates"])
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    offline.pool.fail = {i: RuntimeError("PTXAS failed") for i in range(count)}
    with pytest.raises(ProviderError, match="no candidate compiles") as raised:
        k(x, acc)
    assert len(raised.value.candidates) == count and isinstance(raised.value.original, ProviderError) and (acc == 0).all()
    offline.pool.fail = {count + i: TargetError("compilation took longer than 60 s", category="lower_compilation_cost") for i in range(count)}
    with pytest.raises(TargetError, match="longer than 60 s") as raised:
        k(x, acc)
    assert raised.value.category == "lower_compilation_cost" and (acc == 0).all()


def test_rows_beyond_the_machine_are_scored_out(offline):
    from triton.runtime.errors import OutOfResources

    def limited(planned, values):
        if planned.options["num_warps"] == 8:
            raise OutOfResources(300000, 227000, "shared memory")
        add(planned, values)

    k = offline(accumulate, limited)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    k(x, acc)
    listed = k.observation["candidates"]
    assert (acc == 1).all() and {c["values"]["NUM_WARPS"] for c in listed if c["status"] == "failed"} == {8}
    assert all("out of resource" in c["reason"] for c in listed if c["status"] == "failed")


def test_untuned_and_empty_calls(offline, monkeypatch):
    monkeypatch.setenv("INTENT_TUNE", "0")
    k = offline(accumulate, add)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    k(x, acc)
    assert (acc == 1).all() and k.observation["winner"]["source"] == "first" and k.observation["compilations"] == 1
    monkeypatch.delenv("INTENT_TUNE")
    k = offline(accumulate, add)
    k(torch.ones(0, 16), torch.zeros(0, 16))
    assert k.observation["compilations"] == 0 and len(offline.pool.jobs) == 1


def test_one_empty_extent(offline):
    k = offline(product, lambda planned, values: values[2].zero_())
    for m, inner, n in ((0, 4, 5), (3, 0, 5), (3, 4, 0)):
        c = torch.full((m, n), 7.0)
        k(torch.ones(m, inner), torch.ones(inner, n), c)
        assert (c == 0).all() and k.observation["winner"]["source"] == "first"
    assert not winners.of_program(k._tuner.program)


def test_a_call_during_capture(offline, monkeypatch):
    k = offline(accumulate, add)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    with pytest.MonkeyPatch.context() as patch, pytest.warns(RuntimeWarning, match="nothing can be timed while a graph is captured"):
        k._load()
        patch.setattr(type(k._program), "measurable", lambda self: False)
        k(x, acc)
    assert (acc == 1).all() and k.observation["winner"]["index"] == 0 and not winners.of_program(k._tuner.program)
    k(x, acc)
    assert (acc == 2).all() and k.observation["winner"]["source"] == "measured"


def test_a_winner_is_compiled_in_this_process(offline):
    k = offline(accumulate, add)
    x, acc = torch.ones(16, 16), torch.zeros(16, 16)
    k(x, acc)
    jobs = len(offline.pool.jobs)
    other = offline(accumulate, add)
    other(x, acc)
    assert len(offline.pool.jobs) == jobs and other.observation["compilations"] == 1 and other.observation["winner"]["source"] == "winner"


def counted(k, calls):
    specialisations = set()
    for arguments in calls:
        k(*arguments)
        specialisations.add(keys.canonical(k.observation["specialisation_key"]))
    return k.observation["compilations"], len(specialisations)


@pytest.fixture
def untuned(offline, monkeypatch):
    monkeypatch.setenv("INTENT_TUNE", "0")
    return offline


def test_row_counts_compile_once(untuned):
    x = torch.zeros(1000, 64)
    assert counted(untuned(row_softmax), ((x[:m], torch.empty_like(x[:m])) for m in range(1, 1001))) == (1, 1)


def test_row_lengths_compile_twice_a_class(untuned):
    compilations, specialisations = counted(untuned(row_softmax), ((torch.zeros(3, n), torch.empty(3, n)) for n in range(1, 1001)))
    classes = len({keys.extent_class(n) for n in range(1, 1001)})
    assert compilations == specialisations <= 2 * classes + 2


def test_an_alignment_change_compiles_once(untuned):
    k = untuned(row_softmax)
    storage = torch.zeros(100000)
    compilations, _ = counted(k, ((storage[start:start + 64 * 5].view(5, 64), torch.empty(5, 64)) for start in (0, 4, 1, 2, 3, 5, 8)))
    assert compilations == 2
    assert k.observation["specialisation_key"]["arguments"]["x"] == "*fp32"  # of the latest decision
    assert k.observation["specialisation_key"]["arguments"]["y"] == "*fp32 /16"


def test_every_row_compiles_once_over_many_shapes(offline):
    """Tuned, a thousand row counts compile each row once, and measure once a class."""
    k = offline(row_softmax)
    x = torch.zeros(1000, 64)
    for m in range(1, 1001):
        k(x[:m], torch.empty_like(x[:m]))
    resident = [c for c in k.metadata["candidates"] if c["variant"] == "resident"]
    assert k.observation["compilations"] == len(resident) == len(offline.pool.jobs)
    assert len(winners.of_program(k._tuner.program)) == 11


# -- the real compiler's processes --------------------------------------------------------------------------------------------


@pytest.fixture
def pool():
    made = compiler_pool.CompilerPool(2)
    yield made
    made.close()


def real_jobs(kernel, values):
    """Jobs for every row of a call, as the runtime makes them."""
    program = intent.generate(kernel, "triton:sm_90")
    runtime = TritonRuntime(program.source_path, program.metadata)
    runtime._target = lambda: provider.gpu_target("sm_90")
    variant = provider.plan(runtime.module, values).variant
    plans = [provider.plan(runtime.module, values, row) for row in range(len(variant["configs"]))]
    return plans, [runtime._job(planned) for planned in plans]


@pytest.fixture
def triton_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    return tmp_path / "triton"


def test_workers_compile_what_this_process_then_finds(pool, triton_cache):
    plans, jobs = real_jobs(product, [provider._Shape((128, 64), itemsize=4), provider._Shape((64, 128), itemsize=4), provider._Shape((128, 128), itemsize=4)])
    jobs, plans = jobs[:3], plans[:3]
    assert pool.compile(jobs, 60.0) == [None] * 3
    stored = len(list(triton_cache.rglob("*.cubin")))
    assert stored == 3
    for planned in plans:
        assert provider.compile_plan(planned, provider.gpu_target("sm_90")).asm["ptx"]
    assert len(list(triton_cache.rglob("*.cubin"))) == stored
    # The same workers serve the next kernel.
    first = list(pool._idle)
    assert pool.compile(jobs[:1], 60.0) == [None] and pool._idle[-1] in first


def test_a_compiler_that_is_too_slow_is_ended(pool, triton_cache):
    _, jobs = real_jobs(scale, [provider._Shape((1000,), itemsize=4)] * 2)
    [error] = pool.compile(jobs[:1], 0.001)
    assert isinstance(error, TargetError) and error.category == "lower_compilation_cost" and error.feature == "lower_compile_timeout" and "longer than 0.001 s" in str(error)
    assert not pool._idle
    assert pool.compile(jobs[:1], 60.0) == [None]


def test_failures_of_the_compiler_are_carried_over(pool, triton_cache, tmp_path):
    _, jobs = real_jobs(scale, [provider._Shape((1000,), itemsize=4)] * 2)
    broken = {**jobs[0], "constants": {**jobs[0]["constants"], "BN": 3}}
    fine, bad = pool.compile([jobs[0], broken], 60.0)
    assert fine is None and isinstance(bad, Exception) and "power of 2" in str(bad)
    crash = tmp_path / "crash.py"
    crash.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n")
    [error] = pool.compile([{**jobs[0], "path": str(crash)}], 60.0)
    assert isinstance(error, ProviderError) and "signal 6" in str(error)
    assert pool.compile(jobs[:1], 60.0) == [None]


def test_the_limit_is_an_option(offline):
    k = offline(accumulate, add, options=intent.CompileOptions(lower_compile_timeout=2.5))
    k(torch.ones(4, 4), torch.zeros(4, 4))
    assert offline.pool.limits == [2.5]


def test_autotuner_order_and_result():
    from triton import Config
    from intent.tuning.candidates import Candidate

    seen, rows = [], [(Candidate("v", i, {}), Config({"BM": 2**i}, num_warps=4), lambda i=i: seen.append(i)) for i in range(4)]

    def measure(candidate, run):
        run()
        return [3.0, 1.0, 2.0, 4.0][candidate.index]

    assert autotune(rows, measure) == {0: 3.0, 1: 1.0, 2: 2.0, 3: 4.0} and seen == [0, 1, 2, 3, 1]


_INTERPRETED = r"""
import sys
sys.path[:0] = sys.argv[1:3]
import numpy as np, torch, intent
from test_triton_provider import patch_interpreter
patch_interpreter()
from intent.runtime import kernel as kernels
from intent.tuning.timing import HostClock, Effort
HostClock.__init__.__defaults__ = (Effort(least=1, most=1, seconds=0.0),)
from tuned_programs import accumulate
k = intent.compile(accumulate, "triton:sm_90")
storage = torch.arange(300, dtype=torch.float32)
expected = storage.clone()
expected[1:41:2] += expected[0:40:2]
k(storage[0:40:2].view(4, 5), storage[1:41:2].view(4, 5))
assert torch.equal(storage, expected), storage[:41]
print(k.observation["winner"]["source"], sum(c["status"] in ("chosen", "measured") for c in k.observation["candidates"]))
"""


@pytest.mark.parametrize("asked, expected", [("1", "measured"), ("", "first")])
def test_in_the_interpreter(tmp_path, asked, expected):
    tests = pathlib.Path(__file__).parent
    script = tmp_path / "run.py"
    script.write_text(_INTERPRETED)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "INTENT_TUNE": asked}
    done = subprocess.run([sys.executable, str(script), str(pathlib.Path(intent.__file__).parents[1]), str(tests)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    source, count = done.stdout.split()
    assert source == expected and (int(count) > 1) == (asked == "1")


class FakeCuda:
    """As much of torch as the device clock uses; a run takes what `durations` says, and every step is logged."""

    uint8 = "uint8"

    def __init__(self, durations, fits=True):
        self.log, self.durations, self.now, self.cuda, self.fits = [], iter(durations), 0.0, self, fits

    def current_device(self):
        return 0

    def get_device_properties(self, device):
        return type("Properties", (), {"L2_cache_size": 50 << 20})()

    def empty(self, size, dtype, device):
        if not self.fits:
            raise RuntimeError("out of memory\nmore lines")
        self.log.append(("empty", size, device))
        return type("Tensor", (), {"zero_": lambda tensor: self.log.append("flush")})()

    def Event(self, enable_timing):
        outer = self

        class Event:
            def record(self):
                self.at = outer.now
                outer.log.append("event")

            def elapsed_time(self, other):
                return (other.at - self.at) * 1e3

        return Event()

    def synchronize(self):
        self.log.append("wait")

    def run(self):
        self.now += next(self.durations)
        self.log.append("run")


def test_the_device_clock(monkeypatch):
    from intent.tuning.timing import DeviceClock
    from intent.tuning.trials import TrialMemoryError

    fake = FakeCuda([9.0, 1.0, 2.0, 3.0, 4.0, 50.0, 5.0])
    monkeypatch.setitem(sys.modules, "torch", fake)
    clock = DeviceClock(Effort(least=5, most=25, seconds=0.06, longest=100.0))
    assert clock.measure(fake.run, lambda: fake.log.append("restore")) == 4.0
    timed = ["restore", "flush", "event", "run", "event"]
    assert fake.log == [("empty", 200 << 20, "cuda"), "restore", "run", "wait", *timed, "wait", *timed * 5, "wait"]
    # One hopeless run is enough; short runs are repeated up to the most.
    fake = FakeCuda([1.0, 1.0])
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert DeviceClock(Effort()).measure(fake.run, lambda: None, 0.3) == 1.0
    fake = FakeCuda([1e-5] * 100)
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert DeviceClock(Effort()).measure(fake.run, lambda: None, 1.0) == pytest.approx(1e-5) and fake.log.count("run") == 27
    monkeypatch.setitem(sys.modules, "torch", FakeCuda([], fits=False))
    with pytest.raises(TrialMemoryError, match="209715200 bytes to clear the cache: out of memory$"):
        DeviceClock()
