"""torch CPU tensors as arguments. Skipped where torch is not installed."""
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fake_native import metadata, scalar, view
from intent.errors import CallError
from intent.runtime import interface, outputs
from intent.runtime.arrays import allocate_like, describe
from intent.runtime.binding import Plan


def plan(*params, **rest):
    return Plan(interface.read(metadata(*params, **rest)), "cpu")


COPY = (view("x", "f32", ("M", "N")), view("y", "f32", ("M", "N"), "out"))


def test_description():
    t = torch.arange(24, dtype=torch.float32).reshape(4, 6)[1:, ::2]
    found = describe(t)
    assert (found.pointer, found.extents, found.strides, found.dtype, found.device, found.readonly) == (t.data_ptr(), (3, 3), (6, 2), "f32", "cpu", False)
    assert describe(torch.tensor(1.0)).extents == ()


@pytest.mark.parametrize("name, dtype", [("bf16", torch.bfloat16), ("f16", torch.float16), ("f8e4m3fn", torch.float8_e4m3fn), ("f8e5m2", torch.float8_e5m2), ("bool", torch.bool),
                                         ("i8", torch.int8), ("u8", torch.uint8), ("u16", torch.uint16), ("u32", torch.uint32), ("u64", torch.uint64), ("f64", torch.float64), ("index", torch.int64)])
def test_dtypes(name, dtype):
    t = torch.zeros(3).to(dtype)
    plan(view("x", name, ("N",))).bind([t])
    made = allocate_like(t, (2, 3), name)
    assert made.dtype == dtype and tuple(made.shape) == (2, 3)


def test_mixed_libraries_bind_and_share_memory():
    p = plan(*COPY, overlaps=[("x", "y", "identical_or_disjoint")])
    a = np.zeros((4, 4), np.float32)
    t = torch.from_numpy(a)
    for _ in range(2):
        p.bind([a, t])
        p.bind([t[:2], a[2:]])
        with pytest.raises(CallError, match="partial overlap"):
            p.bind([t[:3], a[1:]])


def refused(*arguments, match):
    with pytest.raises(CallError, match=match):
        plan(*COPY).bind(list(arguments))


def test_refused_tensors():
    y = torch.empty(2, 2)
    refused(torch.zeros(2, 2).to_sparse(), y, match="strided tensor")
    refused(torch.empty(2, 2, device="meta"), y, match="device meta")
    refused(torch.zeros(2, 2, dtype=torch.complex64), y, match="complex64")
    refused(torch.zeros(2, 2, dtype=torch.complex64).conj().imag, y, match="negated")
    refused(torch.zeros(2, 2), torch.empty(2, 1).expand(2, 2), match="share addresses")
    refused(torch.zeros(2, 2, dtype=torch.float64), y, match="got f64")


def test_alias_group_follows_storages():
    p = plan(view("x", "f32", ("N",), alias="g"), view("y", "f32", ("N",), "out", alias="g"), overlaps=[("x", "y", "any")])
    base = torch.zeros(8)
    p.bind([base[:4], base[4:]])
    with pytest.raises(CallError, match="alias group"):
        p.bind([torch.zeros(4), torch.zeros(4)])


def test_scalars_from_tensors():
    p = plan(scalar("a", "f32"), scalar("n", "i32"))
    bound = p.bind([torch.tensor(1.5), torch.tensor(3)])
    assert bound.values == [1.5, 3] and type(bound.values[1]) is int
    with pytest.raises(CallError):
        p.bind([torch.zeros(1), 3])
    with pytest.raises(CallError):
        p.bind([1.0, torch.tensor(1.0)])


def test_tensors_without_memory_of_their_own():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3, 4)
    nested = torch.nested.nested_tensor([torch.ones(3), torch.ones(4)])
    y = torch.ones(3, 4)
    for wrong in (fake, nested, torch._efficientzerotensor(3, 4), torch.ones(3, 4, device="meta"), torch.ones(3, 4).to_sparse()):
        p = plan(*COPY)
        p.bind([torch.ones(3, 4), y])  # such a layout is known
        with pytest.raises(CallError) as caught:
            p.bind([wrong, y])
        assert caught.value.parameter == "x"

    def inside(t):
        with pytest.raises(CallError, match="a tensor with memory"):
            plan(*COPY).bind([t, y])
        return t

    torch.vmap(inside)(torch.ones(2, 3, 4))
    with pytest.raises(CallError, match="expected memory for f32"):
        outputs.complete(plan(view("x", "f32", ("M", "K")), view("y", "f32", ("M", "N"), "out")), (torch.ones(1, 1).expand(2**40, 1),), {}, {"N": 2**60})
