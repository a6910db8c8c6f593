"""Tuning on a GPU: the caller's memory, timing by events, winners, graphs, operators. Skipped where no GPU is visible."""
import numpy as np
import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no GPU is visible", allow_module_level=True)

import intent
from intent.errors import ProviderError
from intent.providers.triton_runtime import TritonRuntime
from intent.tuning import winners
from intent.tuning.timing import DeviceClock
from intent.tuning.torch_memory import TorchMemory
from intent.tuning.trials import TrialMemoryError
from tuned_programs import accumulate, count, product, row_softmax, sum_all


@pytest.fixture(autouse=True)
def no_memory_of_winners(monkeypatch):
    winners.forget()
    monkeypatch.delenv("INTENT_TUNE", raising=False)


def fresh(kernel):
    return intent.generate(kernel, "triton").materialize()


def test_the_first_call_tunes_and_runs_once():
    k = fresh(accumulate)
    x, acc = torch.ones(517, 1031, device="cuda"), torch.zeros(517, 1031, device="cuda")
    k(x, acc)
    assert (acc == 1).all()
    found = k.observation
    assert found["winner"]["source"] == "measured" and found["registers"] > 0 and found["spills"] >= 0 and found["shared_memory"] >= 0
    measured = [c for c in found["candidates"] if c["status"] in ("chosen", "measured")]
    assert len(measured) > 1 and all(1e-7 < c["seconds"] < 1e-2 for c in measured)
    k(x, acc)
    assert (acc == 2).all() and k.observation["compilations"] == found["compilations"]


@pytest.mark.parametrize("pick", [
    lambda s: (s[0:2000:2].view(20, 50), s[1:2001:2].view(20, 50)), lambda s: (s[:1000].view(20, 50), s[:1000].view(20, 50)),
    lambda s: (s[3000:4000].view(20, 50), s[7:1007].view(20, 50)), lambda s: (s.view(100, 50)[:, 3:10], s.view(100, 50)[:, 20:27])])
def test_views_that_share_memory(pick):
    k = fresh(accumulate)
    storage = torch.randn(5000, device="cuda")
    expected = storage.clone()
    x, acc = pick(expected)
    acc.copy_(acc + x)
    before = storage.clone()
    x, acc = pick(storage)
    k.tune(x, acc)
    assert torch.equal(storage, before)
    k(x, acc)
    assert torch.equal(storage, expected)


def test_atomic_counters_count_once():
    k = fresh(count)
    x = torch.arange(1, 100_001, dtype=torch.int32, device="cuda") % 1000
    total = torch.tensor([10, 20, 30, -40, 7], dtype=torch.int32, device="cuda")
    before = total.clone()
    k.tune(x, total)
    assert torch.equal(total, before)
    k(x, total)
    assert (total - before).tolist() == [int(x[i::4].sum()) for i in range(4)] + [0] and k.observation["winner"]["measured"]


def test_a_reduction_that_hands_over_is_tuned_with_its_workspace():
    k = fresh(sum_all)
    for n in (1, 70_001, 5_000_011):
        x = torch.randn(n, device="cuda")
        for _ in range(3):
            torch.testing.assert_close(k.run(x), x.double().sum().float(), rtol=1e-4, atol=1e-3 * n**0.5)


def test_softmax_and_product_after_tuning():
    x = torch.randn(513, 2049, device="cuda")
    torch.testing.assert_close(fresh(row_softmax).run(x), x.double().softmax(1).float(), rtol=2e-5, atol=1e-7)
    a, b = torch.randn(257, 301, device="cuda"), torch.randn(301, 129, device="cuda")
    torch.testing.assert_close(fresh(product).run(a, b), (a.double() @ b.double()).float(), rtol=1e-4, atol=1e-4)


def test_another_object_finds_the_winner(monkeypatch):
    k = fresh(row_softmax)
    x = torch.randn(64, 1000, device="cuda")
    k.run(x)
    monkeypatch.setattr(TritonRuntime, "measure", None)
    winners.forget()
    other = fresh(row_softmax)
    other.run(x)
    assert other.observation["winner"]["source"] == "winner" and other.observation["winner"]["index"] == k.observation["winner"]["index"]


def test_a_failing_trial_leaves_the_arguments(monkeypatch):
    k = fresh(accumulate)
    x, acc = torch.ones(100, 100, device="cuda"), torch.zeros(100, 100, device="cuda")
    original, calls = DeviceClock.measure, []

    def measure(self, run, restore, best=None):
        calls.append(1)
        if len(calls) == 3:
            run()
            raise RuntimeError("CUDA error")
        return original(self, run, restore, best)

    monkeypatch.setattr(DeviceClock, "measure", measure)
    with pytest.raises(ProviderError, match="failed in a trial"):
        k(x, acc)
    assert (acc == 0).all()
    monkeypatch.setattr(DeviceClock, "measure", original)
    k(x, acc)
    assert (acc == 1).all()


def test_copies_that_do_not_fit(monkeypatch):
    def reserve(self, size):
        raise TrialMemoryError(f"{size} bytes of copies")

    monkeypatch.setattr(TorchMemory, "reserve", reserve)
    k = fresh(accumulate)
    x, acc = torch.ones(10, 10, device="cuda"), torch.zeros(10, 10, device="cuda")
    with pytest.warns(RuntimeWarning, match="do not fit"):
        k(x, acc)
    assert (acc == 1).all() and k.observation["winner"]["source"] == "memory"


def test_the_clock_agrees_with_the_memory_bandwidth():
    source, target = torch.ones(1 << 26, device="cuda"), torch.empty(1 << 26, device="cuda")
    seconds = DeviceClock().measure(lambda: target.copy_(source), lambda: None)
    # 512 MiB moved: between 0.2 and 20 TB/s.
    assert 2.5e-5 < seconds < 2.7e-3


def test_graphs_capture_prepared_and_direct_calls():
    k = fresh(accumulate)
    x, acc = torch.ones(300, 300, device="cuda"), torch.zeros(300, 300, device="cuda")
    prepared = k.prepare(x, acc)
    k(x, acc)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        prepared.launch()
        k(x, acc)
    acc.zero_()
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert (acc == 6).all()


def test_other_streams():
    k = fresh(accumulate)
    x, acc = torch.ones(300, 300, device="cuda"), torch.zeros(300, 300, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        k(x, acc)
        k(x, acc)
    torch.cuda.current_stream().wait_stream(stream)
    assert (acc == 2).all()


def test_as_a_torch_operator():
    op = intent.compile(row_softmax, "triton").as_torch_op("intent_tests::device_softmax")
    x = torch.randn(65, 130, device="cuda")
    model = torch.compile(lambda x: op(x) * 2, fullgraph=True)
    torch.testing.assert_close(model(x), (x.double().softmax(1) * 2).float(), rtol=2e-5, atol=1e-7)


def test_empty_and_tiny():
    for shape in [(0, 5), (1, 1), (3, 0)]:
        x = torch.zeros(shape, device="cuda")
        got = fresh(row_softmax).run(x).cpu().numpy()
        assert got.shape == shape and np.all(got == 1)
