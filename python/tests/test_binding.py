"""Argument checks of one call: each wrong argument gives one CallError that names it, and nothing else."""
import ml_dtypes
import numpy as np
import pytest

from fake_native import metadata, scalar, view
from intent.errors import CallError, InternalError
from intent.runtime import interface, outputs
from intent.runtime.arrays import describe
from intent.runtime.binding import Plan
from programs import kernel


def plan(*params, device="cpu", **rest):
    return Plan(interface.read(metadata(*params, **rest)), device)


def refused(plan, *arguments, parameter, match, **keywords):
    with pytest.raises(CallError, match=match) as caught:
        plan.bind(plan.arrange(arguments, keywords))
    assert caught.value.parameter == parameter
    return caught.value


COPY = (view("x", "f32", ("M", "N")), view("y", "f32", ("M", "N"), "out"))


def f32(*shape):
    return np.zeros(shape, np.float32)


def test_binds_extents_strides_and_symbols():
    p = plan(*COPY, scalar("n", "i32"))
    x, y = f32(4, 6)[::-1, ::2], f32(4, 3)
    for _ in range(2):  # the second call takes the short way
        bound = p.bind([x, y, 5])
        assert bound.layout.extents == [(4, 3), (4, 3)]
        assert bound.layout.strides == [(-6, 2), (3, 1)]
        assert bound.pointers == [x.ctypes.data, y.ctypes.data]
        assert bound.symbols == {"M": 4, "N": 3, "%n": 5}
    assert p.bind([x, y, np.int64(9)]).symbols["%n"] == 9


def test_wrong_dtype_rank_and_kind():
    p = plan(*COPY)
    error = refused(p, f32(2, 3).astype(np.float64), f32(2, 3), parameter="x", match="dtype f32, got f64")
    assert (error.expected, error.actual) == ("dtype f32", "f64")
    refused(p, f32(2), f32(2, 3), parameter="x", match=r"rank 2, shape \(M, N\), got rank 1, shape \(2,\)")
    refused(p, 3.0, f32(2, 3), parameter="x", match=r"array of f32, shape \(M, N\), got float")
    refused(p, [[1.0]], f32(1, 1), parameter="x", match="got list")
    refused(p, f32(2, 3), None, parameter="y", match="got NoneType")
    refused(p, np.zeros((2, 3), np.complex64), f32(2, 3), parameter="x", match="complex64")
    refused(p, f32(2, 3).astype(">f4"), f32(2, 3), parameter="x", match="native byte order")
    refused(p, np.ma.masked_array(f32(2, 3)), f32(2, 3), parameter="x", match="masked")


def test_unequal_extents_name_both_arguments():
    p = plan(view("x", "f32", ("M", "N")), view("w", "f32", ("N",)), view("y", "f32", ("M", "N"), "out"))
    error = refused(p, f32(2, 3), f32(4), f32(2, 3), parameter="w", match="'x' and 'w' disagree on 'N'")
    assert "3" in error.expected and error.actual == "4"
    refused(plan(view("x", "f32", ("N", "N")), COPY[1]), f32(2, 3), f32(2, 3), parameter="x", match="axis 1 of 'x' equal to 2")


def test_fixed_and_computed_extents():
    p = plan(view("x", "f32", (128, "M")), view("y", "f32", (0,), "out"), {**view("z", "f32", ()), "shape": ['mul("M", 2)', 'add("M", "%h")']}, scalar("h", "i32"))
    p.bind([f32(128, 5), f32(0), f32(10, 8), 3])
    refused(p, f32(127, 5), f32(0), f32(10, 8), 3, parameter="x", match="axis 0 128, got 127")
    refused(p, f32(128, 5), f32(1), f32(10, 8), 3, parameter="y", match="axis 0 0, got 1")
    refused(p, f32(128, 5), f32(0), f32(11, 8), 3, parameter="z", match="axis 0 10")
    refused(p, f32(128, 5), f32(0), f32(10, 8), 4, parameter="z", match="axis 1 9")


@pytest.mark.parametrize("access", ["out", "inout"])
def test_written_views_must_be_writable_and_injective(access):
    p = plan(COPY[0], view("y", "f32", ("M", "N"), access))
    y = f32(2, 3)
    p.bind([f32(2, 3), y])
    y.flags.writeable = False
    refused(p, f32(2, 3), y, parameter="y", match="read-only")
    refused(p, f32(2, 3), np.lib.stride_tricks.as_strided(f32(2, 3), (2, 3), (12, 0)), parameter="y", match="share addresses")
    refused(p, f32(2, 3), np.lib.stride_tricks.as_strided(f32(2, 3), (2, 3), (4, 4)), parameter="y", match="share addresses")
    p.bind([np.broadcast_to(f32(3), (2, 3)), f32(2, 3)])  # a read view may repeat elements, and may be read-only
    p.bind([f32(1, 1), np.lib.stride_tricks.as_strided(f32(1), (1, 1), (0, 0))])  # one element collides with nothing


def test_interleaved_injective_strides_are_accepted():
    p = plan(COPY[0], view("y", "f32", ("M", "N"), "out"))
    # Offsets 3i + 2j for i, j < 3 are distinct, although the axes interleave.
    p.bind([f32(3, 3), np.lib.stride_tricks.as_strided(f32(20), (3, 3), (12, 8))])
    refused(p, f32(4, 3), np.lib.stride_tricks.as_strided(f32(20), (4, 3), (8, 12)), parameter="y", match="share addresses")


def test_misaligned_and_fractional_strides():
    p = plan(view("x", "f32", ("N",)), view("y", "f32", ("N",), "out"))
    record = np.zeros(4, [("a", "u1"), ("b", "<f4")])
    refused(p, record["b"], f32(4), parameter="x", match="multiples of 4 bytes")
    raw = np.zeros(17, np.uint8)
    start = (-raw.ctypes.data) % 4 + 1
    for _ in range(2):
        refused(p, raw[start:start + 8].view(np.float32), f32(2), parameter="x", match="address that is a multiple of 4")


@pytest.mark.parametrize("dtype, made", [("bf16", ml_dtypes.bfloat16), ("f8e4m3fn", ml_dtypes.float8_e4m3fn), ("f8e5m2", ml_dtypes.float8_e5m2),
                                         ("bool", np.bool_), ("u64", np.uint64), ("index", np.int64), ("i64", np.int64), ("f16", np.float16)])
def test_every_dtype_has_an_array(dtype, made):
    p = plan(view("x", dtype, ("N",)))
    p.bind([np.zeros(3, made)])
    refused(p, np.zeros(3, np.int16), parameter="x", match="got i16")


def test_strides_constraints():
    p = plan(view("x", "f32", ("M", "N"), strides=['"S"', 1]), view("w", "f32", ("M", "N"), strides=['"S"', None]))
    assert p.bind([f32(4, 8)[:, :4], f32(4, 8)[:, ::2]]).symbols["S"] == 8
    refused(p, f32(4, 8)[:, ::2], f32(4, 8)[:, ::2], parameter="x", match="stride of axis 1 1, got 2")
    refused(p, f32(4, 4), f32(4, 8)[:, :4], parameter="w", match="disagree on 'S'")
    p.bind([f32(4, 1)[:, ::2], f32(4, 1)])  # the stride of an axis with one element addresses nothing


def test_checks_and_integer_scalars():
    p = plan(view("x", "f32", ("N",)), scalar("k", "i32"), checks=[('eq(mod("N", "%k"), 0)', "N is a multiple of k")])
    p.bind([f32(12), 4])
    error = refused(p, f32(12), 5, parameter=None, match="N is a multiple of k")
    assert "N = 12" in str(error) and "k = 5" in str(error)
    refused(p, f32(12), 0, parameter=None, match="divisor 0 is not positive")


# -- overlap ------------------------------------------------------------------------------------------------


def overlap_plan(permission):
    return plan(*COPY, overlaps=[("y", "x", permission)])


def test_overlap_permissions():
    base = f32(8, 8)
    apart, partial = (base[:, :4], base[:, 4:]), (base[:7], base[1:])
    for permission, good, bad in [("any", [apart, partial, (base, base)], []), ("identical_or_disjoint", [apart, (base, base)], [partial]),
                                  ("disjoint", [apart], [partial, (base, base)])]:
        p = overlap_plan(permission)
        for arguments in good:
            p.bind(list(arguments))
        for arguments in bad:
            refused(p, *arguments, parameter="y", match="'x' and 'y' overlap")
    # A pair that the compiler says nothing about must be disjoint.
    refused(plan(*COPY), base, base, parameter="y", match="overlap")


def test_overlap_on_true_footprints():
    p = plan(view("x", "f32", ("N",)), view("y", "f32", ("N",), "out"), overlaps=[("x", "y", "identical_or_disjoint")])
    base = f32(100)
    p.bind([base[::2], base[1::2]])
    p.bind([base[:50][::-1], base[50:]])
    p.bind([base[5:5], base[:0]])
    p.bind([base[::-1], base[::-1]])
    for x, y in [(base[::-1], base), (base[::2], base[:50]), (base[::3][:16], base[1::2][:16]), (base[1:51][::-1], base[50:])]:
        refused(p, x, y, parameter="y", match="partial overlap")


def test_two_written_views_and_noalias():
    base = f32(8)
    p = plan(view("y", "f32", ("N",), "out"), view("z", "f32", ("N",), "inout"))
    refused(p, base, base, parameter="z", match="overlap")
    reads = plan(view("a", "f32", ("N",), noalias=True), view("b", "f32", ("N",)))
    reads.bind([base, base])  # two reads cannot disturb each other
    p = plan(view("x", "f32", ("N",), noalias=True), view("y", "f32", ("N",), "out"), overlaps=[("x", "y", "any")])
    refused(p, base, base, parameter="y", match="overlap")


def test_alias_group_shares_an_allocation():
    p = plan(view("x", "f32", ("N",), alias="g"), view("y", "f32", ("N",), "out", alias="g"), overlaps=[("x", "y", "any")])
    base = f32(8)
    p.bind([base[:4], base[4:]])
    for _ in range(2):
        refused(p, f32(4), f32(4), parameter="y", match="alias group 'g'")


# -- scalars ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, good", [
    ("f32", [1, 1.5, -0.0, float("inf"), np.float32(2), np.float64(2), np.int8(3), np.array(2.0), 3.4028234663852886e38]), ("f16", [65504, 1e-30]),
    ("i8", [-128, 127, np.int64(5), np.array(4)]), ("u64", [0, 2**64 - 1]), ("i64", [-2**63]), ("index", [2**63 - 1]), ("bool", [True, np.bool_(False)]), ("bf16", [1]), ("f8e5m2", [57344.0])])
def test_scalars_accepted(dtype, good):
    p = plan(scalar("s", dtype))
    for value in good:
        bound = p.bind([value])
        assert bound.values[0] == value and type(bound.values[0]) in (bool, int, float)


@pytest.mark.parametrize("dtype, bad", [
    ("i32", [1.0, 2**31, -2**31 - 1, True, "3", None, np.float32(1), np.zeros(1, np.int32), 10**400]), ("u8", [-1, 256]), ("f32", [True, 1e39, 2**130, 10**400, 1j, "1"]),
    ("f16", [65505.0]), ("bool", [0, 1.0, np.int8(1)]), ("f8e4m3fn", [449.0, float("inf")]),
    ("f64", [np.ma.masked, np.ma.array(1.0), np.ma.array(1.0, mask=True)])])
def test_scalars_refused(dtype, bad):
    p = plan(scalar("s", dtype))
    for value in bad:
        refused(p, value, parameter="s", match="expected")


def test_arguments_by_keyword_and_default():
    p = plan(view("x", "f32", ("N",)), scalar("eps", "f32", {"float": "0x1.0p-3"}), view("y", "f32", ("N",), "out"), scalar("k", "i32"))
    x, y = f32(3), f32(3)
    assert p.bind(p.arrange((x, 0.5, y, 4), {})).values[1] == 0.5
    assert p.bind(p.arrange((x, y, 4), {})).values[1] == 0.125
    assert p.bind(p.arrange((x, y), {"k": 4, "eps": 2})).values[1::2] == [2.0, 4]
    refused(p, x, y, parameter="k", match="missing argument 'k'")
    refused(p, parameter="x", match="missing argument 'x'")
    refused(p, x, y, 1, 2, 3, parameter=None, match="too many")
    refused(p, x, y, k=1, q=2, parameter="q", match="unexpected argument 'q'")


def test_dlpack_arrays():
    class Exported:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    found = describe(Exported(x))
    assert (found.pointer, found.extents, found.strides, found.dtype, found.device) == (x.ctypes.data, (3, 2), (4, 2), "f32", "cpu")
    p = plan(*COPY)
    p.bind([Exported(x), f32(3, 2)])
    frozen = f32(3, 2)
    frozen.flags.writeable = False
    refused(p, x, Exported(frozen), parameter="y", match="read-only|DLPack")

    class Broken:
        def __dlpack__(self, **keywords):
            raise BufferError("not today")

    refused(p, Broken(), f32(3, 2), parameter="x", match="not today")


def test_a_device_that_an_object_does_not_tell():
    class Silent:
        def __dlpack__(self, **keywords):
            raise BufferError("not today")

        def __dlpack_device__(self):
            raise KeyError("device")

    with pytest.raises(CallError, match="not today") as caught:
        kernel('x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]', "y[:] = x[:]")(Silent(), f32(3))
    assert caught.value.parameter == "x"


def test_an_output_larger_than_memory():
    for shape in ((2**31, 2**28), (2**40, 2**60), (2**40, 2**70)):
        huge = np.broadcast_to(np.float32(1), shape[:1] + (1,))
        with pytest.raises(CallError, match="argument 'y': expected memory for f32") as caught:
            outputs.complete(plan(view("x", "f32", ("M", "K")), view("y", "f32", ("M", "N"), "out")), (huge,), {}, {"N": shape[1]})
        assert caught.value.parameter == "y"


def test_device_of_the_arrays():
    refused(plan(*COPY, device="cuda"), f32(2, 2), f32(2, 2), parameter="x", match="a cuda device, got one on cpu")


def test_many_layouts_do_not_accumulate():
    p = plan(view("x", "f32", ("N",)))
    for n in range(1100):
        p.bind([f32(n)])
    assert len(p._layouts) <= 1024


def test_malformed_metadata_is_ours():
    with pytest.raises(InternalError, match="malformed interface"):
        interface.read({"params": [{"kind": "view", "name": "x"}]})
    with pytest.raises(InternalError, match="unknown function"):
        interface.read(metadata({**view("x", "f32", ()), "shape": ["frob(1)"]}))
