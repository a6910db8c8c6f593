"""Kernels as torch operators: eager, traced, and compiled, on the host."""
import itertools

import pytest

torch = pytest.importorskip("torch")

import intent
import intent.language as I
from intent import native
from intent.errors import CallError, ConfigurationError
from tuned_programs import accumulate, product, row_softmax

pytestmark = pytest.mark.skipif(native.find_library("libintent-host.so") is None, reason="the libraries are not built")
_numbers = itertools.count()


def name():
    return f"intent_tests::op{next(_numbers)}"


@intent.kernel
def blend(x: I.In[I.f32, ("M", "N")], w: I.In[I.f32, ("N",)], total: I.InOut[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")], last: I.Out[I.f32, ("N",)],
          a: I.f32, shift: I.i32 = 2, keep: I.bool = True):
    z = x[:, :] * a + w[:][None, :] + I.cast(shift, I.f32)
    total[:, :] = total[:, :] + z
    y[:, :] = I.select(keep, z, -z)
    last[:] = w[:] * a


@intent.kernel
def fill(y: I.Out[I.f32, ("N",)], value: I.f32):
    y[:] = I.full(("N",), 0.0, I.f32) + value


def expected_blend(x, w, total, a, shift=2, keep=True):
    z = x.double() * a + w.double() + shift
    return (total.double() + z).float(), (z if keep else -z).float(), (w.double() * a).float()


def arguments(m=5, n=7):
    generator = torch.Generator().manual_seed(m * n)
    return torch.randn(m, n, generator=generator), torch.randn(n, generator=generator), torch.randn(m, n, generator=generator)


@pytest.mark.parametrize("m, n", [(5, 7), (1, 1), (0, 3), (3, 0), (31, 37)])
def test_eager(m, n):
    op = intent.compile(blend).as_torch_op(name())
    x, w, total = arguments(m, n)
    wanted = expected_blend(x, w, total, 0.5)
    y, last = op(x, w, total, 0.5)
    for got, want in zip((total, y, last), wanted):
        torch.testing.assert_close(got, want)
    x, w, total = arguments(m, n)
    wanted = expected_blend(x, w, total, 0.5, 3, False)
    y, last = op(x, w, total, 0.5, 3, False)
    for got, want in zip((total, y, last), wanted):
        torch.testing.assert_close(got, want)


def test_schema_and_operator_checks():
    chosen = name()
    op = intent.compile(blend).as_torch_op(chosen)
    namespace, plain = chosen.split("::")
    assert str(getattr(getattr(torch.ops, namespace), plain).default._schema) == (
        f"{chosen}(Tensor x, Tensor w, Tensor(a!) total, float a, SymInt shift=2, bool keep=True) -> (Tensor, Tensor)")
    torch.library.opcheck(op, (*arguments(), 2.0), test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))


@pytest.mark.parametrize("backend, shapes", [("aot_eager", [(5, 7), (9, 4), (16, 33)]), ("inductor", [(5, 7)])])
def test_compiled_with_changing_shapes(backend, shapes):
    op = intent.compile(blend).as_torch_op(name())
    torch._dynamo.reset()

    @torch.compile(fullgraph=True, dynamic=len(shapes) > 1, backend=backend)
    def model(x, w, total):
        y, last = op(x.relu(), w, total, 0.25)
        return y * 2 + last, total + 1

    for m, n in shapes:
        x, w, total = arguments(m, n)
        changed, y, last = expected_blend(x.relu(), w, total, 0.25)
        out, after = model(x, w, total)
        torch.testing.assert_close(total, changed)
        torch.testing.assert_close(out, y * 2 + last)
        torch.testing.assert_close(after, changed + 1)


def test_no_graph_break_and_one_graph():
    op = intent.compile(row_softmax).as_torch_op(name())
    torch._dynamo.reset()
    graphs = []

    def counting(module, inputs):
        graphs.append(module)
        return module.forward

    model = torch.compile(lambda x: op(x.sin()).sum(dim=1), fullgraph=True, dynamic=True, backend=counting)
    for n in (11, 17, 100):
        torch.testing.assert_close(model(torch.ones(3, n)), torch.ones(3))
    assert len(graphs) == 1


def test_an_out_that_follows_from_nothing_is_changed_in_place():
    op = intent.compile(fill).as_torch_op(name())
    y = torch.zeros(13)
    assert op(y, 3.0) is None and (y == 3).all()


def test_inout_alone_and_tuning(monkeypatch):
    monkeypatch.setenv("INTENT_TUNE", "1")
    op = intent.compile(accumulate).as_torch_op(name())
    x, acc = torch.ones(6, 5), torch.zeros(6, 5)
    assert op(x, acc) is None and (acc == 1).all()
    torch._dynamo.reset()
    torch.compile(lambda x, acc: op(x, acc), fullgraph=True, backend="aot_eager")(x, acc)
    assert (acc == 2).all()


def test_pinned_extents():
    op = intent.compile(product, specialize=("K",)).as_torch_op(name())
    a, b = torch.randn(4, 6), torch.randn(6, 3)
    torch.testing.assert_close(op(a, b), (a.double() @ b.double()).float(), rtol=1e-5, atol=1e-5)


def test_errors_of_calls_pass():
    op = intent.compile(row_softmax).as_torch_op(name())
    with pytest.raises(CallError, match="dtype f32"):
        op(torch.zeros(2, 2, dtype=torch.float64))
    with pytest.raises(RuntimeError):
        op(torch.zeros(2, 2, requires_grad=True)).sum().backward()


@pytest.mark.parametrize("bad", ["", "a::b::c", "1x", "a b", None, "a::"])
def test_names(bad):
    with pytest.raises(ConfigurationError, match="an operator's name is 'name' or 'namespace::name'") as raised:
        intent.compile(row_softmax).as_torch_op(bad)
    assert raised.value.source == "as_torch_op"


def test_a_name_may_be_registered_again():
    chosen = name()
    intent.compile(row_softmax).as_torch_op(chosen)
    op = intent.compile(fill).as_torch_op(chosen)
    y = torch.zeros(2)
    op(y, 1.0)
    assert (y == 1).all()
