"""Element types, parameter annotations and compile-time types."""
import enum

from intent.language.intrinsic import ACTIVE, wrong


class DType:
    """An element type of the language; compared by identity, printed as authors write it."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"I.{self.name}"

    def __reduce__(self):
        return dtype, (self.name,)

    def __call__(self, *args, **kwargs):
        raise wrong(f"I.{self.name} is a dtype, not a function: write I.cast(value, I.{self.name})")


bool = DType("bool")
index = DType("index")
i8, i16, i32, i64 = DType("i8"), DType("i16"), DType("i32"), DType("i64")
u8, u16, u32, u64 = DType("u8"), DType("u16"), DType("u32"), DType("u64")
f16, bf16, f32, f64 = DType("f16"), DType("bf16"), DType("f32"), DType("f64")
f8e4m3fn, f8e5m2 = DType("f8e4m3fn"), DType("f8e5m2")
_DTYPES = {d.name: d for d in (bool, index, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, f8e4m3fn, f8e5m2)}


def dtype(name):
    """The dtype token of a name: `I.dtype("f32") is I.f32`. A host function. An unknown name is a `LanguageError`."""
    if isinstance(name, DType):
        return name
    if name not in _DTYPES:
        raise wrong(f"no dtype is named {name!r}; expected one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


class TypeVar:
    """A dtype chosen per compilation: `T = I.TypeVar("T", I.f16, I.bf16)`, used in place of a dtype.

    Bound with `types={"T": I.f16}` or from the first call's arguments. Without dtypes, any is accepted.
    """

    __slots__ = ("name", "dtypes")

    def __init__(self, name, *dtypes):
        if not isinstance(name, str) or not name.isidentifier():
            raise wrong(f"expected an identifier as the name of a type variable, got {name!r}")
        for d in dtypes:
            if not isinstance(d, DType):
                raise wrong(f"type variable {name!r}: expected dtypes, got {d!r}")
        if len(set(dtypes)) != len(dtypes):
            raise wrong(f"type variable {name!r}: a dtype is repeated")
        self.name, self.dtypes = name, dtypes

    def __repr__(self):
        return self.name


class Constraints:
    """What `I.constraints` promises about one view."""

    __slots__ = ("strides", "alias", "noalias")

    def __init__(self, strides, alias, noalias):
        self.strides, self.alias, self.noalias = strides, alias, noalias


def constraints(*, strides=None, alias=None, noalias=False):
    """Promises about a view, third item of its annotation.

    `strides`: one int, symbol string or None per axis, in elements. `alias`: views of equal group names share an allocation.
    `noalias`: no other argument overlaps it. A broken promise is the caller's error.
    """
    if strides is not None and not (isinstance(strides, tuple) and all(
            s is None or isinstance(s, (int, str)) and not isinstance(s, _bool) for s in strides)):
        raise wrong(f"strides: expected a tuple of ints, symbols and None, got {strides!r}")
    if alias is not None and not isinstance(alias, str):
        raise wrong(f"alias: expected a group name, got {alias!r}")
    if not isinstance(noalias, _bool):
        raise wrong(f"noalias: expected True or False, got {noalias!r}")
    return Constraints(strides, alias, noalias)


_bool = type(True)


class View:
    """The evaluated annotation of a view parameter."""

    __slots__ = ("access", "dtype", "shape", "constraints")

    def __init__(self, access, item):
        spelled = {"in": "In", "out": "Out", "inout": "InOut"}[access]
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise wrong(f"expected I.{spelled}[dtype, shape] or I.{spelled}[dtype, shape, I.constraints(...)], got {item!r}")
        element, shape = item[:2]
        if not isinstance(element, (DType, TypeVar)):
            raise wrong(f"I.{spelled}: expected a dtype or a type variable, got {element!r}")
        if not isinstance(shape, tuple):
            raise wrong(f"I.{spelled}: expected a shape tuple such as (\"M\", 128), got {shape!r}")
        for extent in shape:
            if isinstance(extent, _bool) or not isinstance(extent, (int, str)) or extent == "":
                raise wrong(f"I.{spelled}: a shape item is an int or a symbol string, got {extent!r}")
            if isinstance(extent, int) and extent < 0:
                raise wrong(f"I.{spelled}: an extent is not negative, got {extent}")
        if len(item) == 3 and not isinstance(item[2], Constraints):
            raise wrong(f"I.{spelled}: expected I.constraints(...), got {item[2]!r}")
        self.access, self.dtype, self.shape = access, element, shape
        self.constraints = item[2] if len(item) == 3 else Constraints(None, None, False)
        strides = self.constraints.strides
        if strides is not None and len(strides) != len(shape):
            raise wrong(f"strides: expected one item per axis of rank {len(shape)}, got {strides!r}")


class In:
    """`I.In[dtype, shape]`: a view that is read only.

    Shape items are ints, symbols (`"M"`: equal symbols require equal extents, checked at each call) or the name of a `Constexpr`
    parameter. `()` is rank zero, read with `x[()]`. A third item may be `I.constraints(...)`.
    """

    def __class_getitem__(cls, item):
        return View("in", item)


class Out:
    """`I.Out[dtype, shape]`: a view that is undefined until written; readable once written."""

    def __class_getitem__(cls, item):
        return View("out", item)


class InOut:
    """`I.InOut[dtype, shape]`: a view that is read and written."""

    def __class_getitem__(cls, item):
        return View("inout", item)


class ConstexprAnnotation:
    """The evaluated annotation of a compile-time parameter."""

    __slots__ = ("type",)

    def __init__(self, type):
        self.type = type


class Constexpr:
    """`I.Constexpr[int | float | bool | str | SomeEnum]`: bound at compilation, chooses variants; may have a default."""

    def __class_getitem__(cls, item):
        if item in (int, float, str, _bool) or isinstance(item, type) and issubclass(item, Enum):
            return ConstexprAnnotation(item)
        raise wrong(f"I.Constexpr: expected int, float, bool, str or an I.Enum, got {item!r}")


class Enum(enum.Enum):
    """A closed set of compile-time choices: `class Activation(I.Enum): RELU = 0; SILU = 1`.

    Names and values are unique. In a kernel, members are compared within their own type only.
    """

    def __eq__(self, other):
        if ACTIVE.get() is not None and type(other) is not type(self):
            what = f"enum member {other}" if isinstance(other, Enum) else type(other).__name__
            raise wrong(f"an enum member is comparable within its own type only, got {self} and {what}")
        return self is other

    __hash__ = enum.Enum.__hash__

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        seen = {}
        for name, member in cls.__members__.items():
            if name != member.name:
                raise wrong(f"enum {cls.__name__}: members {member.name} and {name} have one value, {member.value!r}")
            seen[name] = member
