"""`intent.interpret`: a kernel run eagerly on the arguments of a call."""
from __future__ import annotations

import bdb
import inspect
import math
import os

import numpy as np

from intent.capture import KernelFunction, capture, float_of
from intent.errors import CallError, ConfigurationError, IntentError, InternalError, LanguageError
from intent.language.intrinsic import ACTIVE
from intent.language.types import ConstexprAnnotation, DType, Enum, View
from intent.language.types import dtype as dtype_named
from intent.requests import mapping
from intent.runtime import interface as interfaces
from intent.runtime import outputs as outs_of
from intent.runtime.arrays import NotAnArray, UnusableArray, describe
from intent.runtime.binding import Plan
from intent.runtime.expressions import parse
from intent.runtime.overlap import span

from . import authors
from .formats import FORMATS, raw_dtype, rounded
from .literals import Literal
from .memory import Memory
from .operations import OPERATIONS
from .races import Races, Storage
from .values import Scalar, Value, as_format
from .values import describe as describe_value


def interpret(kernel, *, constexprs=None, types=None, seed=0) -> "Interpreted":
    """The kernel as a callable that the reference runs. LanguageError, ConfigurationError.

    `constexprs` and `types` as for `intent.compile`; type variables that `types` leaves out take their dtype from each call's
    arguments. `seed` chooses the orders and segmentations that the language leaves free.
    """
    if not isinstance(kernel, KernelFunction):
        raise LanguageError(f"expected a function decorated with @intent.kernel, got {type(kernel).__name__}")
    if not isinstance(seed, int) or seed < 0:
        raise ConfigurationError(f"seed is a non-negative int, not {seed!r}", source="seed")
    return Interpreted(kernel, mapping(constexprs, "constexprs"), mapping(types, "types"), seed)


class Interpreted:
    """A kernel for the reference; calls take arguments as a CompiledKernel does, on host memory."""

    def __init__(self, kernel, constexprs, types, seed):
        self._kernel, self._seed = kernel, seed
        request = capture(kernel, constexprs, types)
        self._parameters = request["functions"][request["entry"]]["params"]
        self._constexprs = self._bound_constexprs(constexprs)
        self._variables = {p["dtype"]["typevar"]: p["dtype"]["dtypes"] for p in self._parameters if isinstance(p.get("dtype"), dict)}
        self._types = {name: self._bound_type(name, value) for name, value in types.items()}
        self._plans = {}
        if not self._variables.keys() - self._types.keys():
            self._plan(self._types)

    def __repr__(self):
        return f"<Interpreted {self._kernel.__name__}>"

    def __call__(self, *arguments, **scalars) -> None:
        """Runs on every run-time argument in declaration order, `Out` views included; scalars also by keyword."""
        plan, types = self._plan_for(arguments, scalars)
        self._run(plan, types, plan.bind(plan.arrange(arguments, scalars)))

    def run(self, *arguments, shapes=None, **keywords):
        """Runs with `Out` views allocated, and returns them: one array, a tuple of several, or None."""
        plan, types = self._plan_for(arguments, keywords)
        values, outs = outs_of.complete(plan, arguments, keywords, shapes)
        self._run(plan, types, plan.bind(values))
        return outs_of.results(values, outs)

    # -- compile-time arguments -----------------------------------------------------------------------------

    def _bound_constexprs(self, given):
        kernel = self._kernel
        signature = inspect.signature(kernel.function)
        declared = {p["name"]: p for p in self._parameters if p["kind"] == "constexpr"}
        for name in given:
            if name not in declared:
                raise LanguageError(f"kernel '{kernel.__name__}' has no constexpr parameter '{name}'")
        bound = {}
        for name in declared:
            value = given.get(name, signature.parameters[name].default)
            if value is inspect.Parameter.empty:
                raise LanguageError(f"constexpr '{name}' has no value: pass constexprs={{\"{name}\": ...}}")
            annotation = kernel.function.__annotations__[name]
            bound[name] = constexpr_value(name, annotation if isinstance(annotation, ConstexprAnnotation) else declared[name]["type"], value)
        return bound

    def _bound_type(self, name, value):
        if name not in self._variables:
            raise LanguageError(f"kernel '{self._kernel.__name__}' has no type variable '{name}'")
        chosen, allowed = dtype_named(value), self._variables[name]
        if allowed and chosen.name not in allowed:
            raise LanguageError(f"type variable '{name}': expected one of {', '.join(allowed)}, got {chosen.name}")
        return chosen

    def _plan_for(self, arguments, keywords):
        types = dict(self._types)
        missing = self._variables.keys() - types.keys()
        if missing:
            runtime = [p for p in self._parameters if p["kind"] != "constexpr"]
            if len(arguments) + len(keywords) < len(runtime):
                runtime = [p for p in runtime if p.get("access") != "out"]
            positional = [p for p in runtime if p["name"] not in keywords]
            for p, value in [*zip(positional, arguments), *((p, keywords[p["name"]]) for p in runtime if p["name"] in keywords)]:
                variable = p["dtype"]["typevar"] if isinstance(p["dtype"], dict) else None
                if p["kind"] == "view" and variable in missing and variable not in types:
                    types[variable] = self._type_from(p["name"], variable, value)
            for variable in sorted(missing - types.keys()):
                raise LanguageError(f"type variable '{variable}' is not bound: pass types={{\"{variable}\": ...}}")
        return self._plan(types), types

    def _type_from(self, parameter, variable, value):
        allowed = self._variables[variable] or list(FORMATS)
        try:
            found = describe(value).dtype
        except NotAnArray as error:
            raise CallError(f"argument {parameter!r}", parameter=parameter, expected="an array", actual=str(error)) from None
        except UnusableArray as error:
            raise CallError(f"argument {parameter!r}", parameter=parameter, expected=error.expected, actual=error.actual) from None
        if found == "i64" and "i64" not in allowed and "index" in allowed:
            found = "index"
        if found not in allowed:
            raise CallError(f"argument {parameter!r}", parameter=parameter, expected=f"dtype {' or '.join(allowed)}", actual=found)
        return dtype_named(found)

    def _plan(self, types):
        key = tuple(sorted((name, token.name) for name, token in types.items()))
        plan = self._plans.get(key)
        if plan is None:
            parameters = tuple(self._runtime_parameter(p, types) for p in self._parameters if p["kind"] != "constexpr")
            views = [p.name for p in parameters if isinstance(p, interfaces.View)]
            # Statements run in the program's own order, whatever the arguments share.
            overlaps = {(a, b): "any" for at, a in enumerate(views) for b in views[at + 1:]}
            plan = self._plans[key] = Plan(interfaces.Interface(parameters, (), overlaps), "cpu")
        return plan

    def _runtime_parameter(self, captured, types):
        name, dtype = captured["name"], captured["dtype"]
        dtype = dtype if isinstance(dtype, str) else types[dtype["typevar"]].name
        if captured["kind"] == "scalar":
            default = captured["default"]
            return interfaces.Scalar(name, dtype, interfaces.REQUIRED if default is None else interfaces.decode_number(default))
        shape = tuple(self._extent(name, item) for item in captured["shape"])
        strides = captured["strides"] and tuple(None if item is None else self._extent(name, item) for item in captured["strides"])
        return interfaces.View(name, dtype, shape, captured["access"], captured["noalias"], captured["alias"], strides)

    def _extent(self, parameter, item):
        if isinstance(item, str) and item in self._constexprs:
            value = self._constexprs[item]
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise LanguageError(f"parameter '{parameter}': constexpr '{item}' stands for an extent and must be a non-negative int, got {value!r}")
            item = value
        return parse(item if isinstance(item, int) else f'"{item}"')

    # -- one run ----------------------------------------------------------------------------------------------

    def _run(self, plan, types, bound):
        Interpreter(self._seed, types, bound.layout.symbols).run(self._kernel, self._arguments(plan, bound))

    def _arguments(self, plan, bound):
        """Proxies of the run-time arguments and the constexpr values, by parameter name."""
        storages = _storages(plan, bound)
        arguments = dict(self._constexprs)
        for at, scalar in plan.scalars:
            format = FORMATS[scalar.dtype]
            value = rounded(np.float64(bound.values[at]), format) if format.is_float else np.asarray(bound.values[at], format.storage)
            arguments[scalar.name] = Scalar(np.asarray(value), format)
        for k, (_, view) in enumerate(plan.views):
            format, extents = FORMATS[view.dtype], tuple(bound.layout.extents[k])
            strides = bound.layout.strides[k]
            storage, base, unit, shared = storages[k]
            size = bound.layout.itemsizes[k]
            raw = _window(bound.pointers[k], extents, [s * size for s in strides], raw_dtype(format), (bound.values, bound.keep))
            written = np.zeros(extents, np.bool_) if view.access == "out" and not shared else None
            arguments[view.name] = Memory(view.name, format, raw, view.access, written, storage, base, tuple(s * size // unit for s in strides), size // unit)
        return arguments


def constexpr_value(name, annotation, value):
    """A compile-time value of the annotated type. LanguageError."""
    kind = annotation.type if isinstance(annotation, ConstexprAnnotation) else {"int": int, "float": float, "bool": bool, "str": str}.get(annotation, Enum)
    if isinstance(value, Value):
        raise LanguageError(f"constexpr '{name}': expected a compile-time value, got {describe_value(value)}")
    if issubclass(kind, Enum):
        if not isinstance(value, kind):
            raise LanguageError(f"constexpr '{name}': expected a member of {kind.__name__}, got {value}")
        return value
    if kind is float:
        try:
            value = float_of(value)
        except LanguageError as error:
            raise LanguageError(f"constexpr '{name}': {error.message}") from None
    if type(value) not in (kind, Literal if kind is int else kind):
        raise LanguageError(f"constexpr '{name}': expected {kind.__name__}, got {value!r}")
    return value


class _Addressed:
    """Memory by address, as NumPy takes it; keeps its owners."""

    def __init__(self, interface, owners):
        self.__array_interface__, self.owners = interface, owners


def _window(pointer, extents, byte_strides, dtype, owners):
    if 0 in extents:
        return np.empty(extents, dtype)
    interface = {"version": 3, "data": (pointer, False), "shape": tuple(extents), "strides": tuple(byte_strides), "typestr": dtype.str}
    return np.asarray(_Addressed(interface, owners))


def _storages(plan, bound):
    """For each view `(storage, first unit, bytes a unit, whether other views lie in the same memory)`."""
    spans = []
    for k in range(len(plan.views)):
        size = bound.layout.itemsizes[k]
        low, high = span(bound.layout.extents[k], [s * size for s in bound.layout.strides[k]], size)
        spans.append((bound.pointers[k] + low, bound.pointers[k] + high, k))
    found = [None] * len(spans)
    groups = []
    for low, high, k in sorted(spans):
        if groups and low < groups[-1][1] and low < high:
            groups[-1][1] = max(groups[-1][1], high)
            groups[-1][2].append(k)
        else:
            groups.append([low, high, [k]])
    for low, high, members in groups:
        unit = math.gcd(*[bound.layout.itemsizes[k] for k in members], *[bound.pointers[k] - low for k in members])
        storage = Storage(max(0, high - low) // unit)
        for k in members:
            found[k] = storage, (bound.pointers[k] - low) // unit, unit, len(members) > 1
    return found


class _Pure:
    """While a combine function runs, effects are refused."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def __enter__(self):
        self.interpreter.pure += 1

    def __exit__(self, *ignored):
        self.interpreter.pure -= 1


_SIGNATURES = {}
_EXACT = 1 << 16  # a precision beyond every format's


def _signature(name, function):
    """(names, defaults, signature) of an operation; names is None where arguments do not bind by position alone."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters] if all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) else None
    found = _SIGNATURES[name] = names, {p.name: p.default for p in parameters if p.default is not p.empty}, signature
    return found


def _helper_view(parameter, annotation, view, symbols):
    """The view as the helper may use it; `symbols`: the extents that its shape symbols stand for so far."""
    if not isinstance(view, Memory):
        raise LanguageError(f"parameter '{parameter}': expected a view, got {describe_value(view)}")
    if view.raw.ndim != len(annotation.shape):
        raise LanguageError(f"parameter '{parameter}': expected a view of rank {len(annotation.shape)}, got rank {view.raw.ndim}")
    if annotation.access != "in" and view.access == "in":
        raise LanguageError(f"parameter '{parameter}': expected a view to write, got '{view.name}', an input (I.In)")
    for axis, (declared, extent) in enumerate(zip(annotation.shape, view.raw.shape)):
        wanted = symbols.setdefault(declared, extent) if isinstance(declared, str) else declared
        if wanted != extent:
            raise LanguageError(f"parameter '{parameter}': axis {axis} has extent {extent}, expected {wanted}")
    if annotation.access == "in" and view.access != "in":
        return Memory(parameter, view.format, view.raw, "in", view.written, view.storage, view.base, view.unit_strides, view.cover)
    return view


class _Rounding:
    """While it lasts, `interpreter.narrowest` is the precision of the narrowest float format that something was rounded to."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def __enter__(self):
        self.outer, self.interpreter.narrowest = self.interpreter.narrowest, _EXACT

    def __exit__(self, *ignored):
        self.interpreter.narrowest = min(self.outer, self.interpreter.narrowest)


class Interpreter:
    """The state of one run: free choices, extents by symbol, parallel loops, author functions that have run."""

    def __init__(self, seed, types, symbols):
        # Trials of laws draw apart, so that they change no other choice of the seed.
        self.random, self.trials = np.random.default_rng(seed), np.random.default_rng([seed, 1])
        self.types, self.symbols = types, {name: extent for name, extent in symbols.items() if not name.startswith("%")}
        self.races, self.pure, self.narrowest = Races(), 0, 0
        self._codes, self._functions, self._active, self._visits = set(), {}, [], {}
        self._left = None

    def run(self, kernel, arguments):
        token = ACTIVE.set(self)
        try:
            with np.errstate(all="ignore"):
                result = authors.call(self._prepared(kernel), arguments)
            if result is not None:
                raise LanguageError(f"kernel '{kernel.__name__}' returns a value; results go to Out views")
            if self._left is not None:
                raise LanguageError("an I.parallel loop is not left by break or return; continue ends one iteration", **self._left)
        except bdb.BdbQuit:
            raise
        except (LanguageError, CallError) as error:
            found = authors.places(error.__traceback__, self._codes)
            authors.attach(error, found or [(kernel.__name__, {"filename": os.path.basename(kernel.function.__code__.co_filename),
                                                               "line": kernel.function.__code__.co_firstlineno})])
            raise error.with_traceback(None) from None
        except IntentError:
            raise
        except Exception as error:
            raise self._translated(error) from error
        finally:
            ACTIVE.reset(token)

    def _translated(self, error):
        """What Python raised: the author's error, unless it comes from inside the reference; then a defect of it."""
        found = authors.places(error.__traceback__, self._codes)
        if isinstance(error, RecursionError) or not authors.raised_below(error.__traceback__, self._codes, os.path.dirname(__file__)):
            translated = LanguageError(str(error) or type(error).__name__)
        else:
            translated = InternalError(f"the reference failed: {type(error).__name__}: {error}")
        authors.attach(translated, found)
        return translated

    # -- called from operations -------------------------------------------------------------------------------

    def operate(self, name, function, args, kwargs):
        implementation = OPERATIONS[name]
        names, defaults, signature = _SIGNATURES.get(name) or _signature(name, function)
        if names is not None and not kwargs and len(names) - len(defaults) <= len(args) <= len(names):
            given = dict(zip(names, args))
            for parameter in names[len(args):]:
                given[parameter] = defaults[parameter]
            return implementation(**given)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise LanguageError(f"I.{name}: {error}") from None
        bound.apply_defaults()
        return implementation(**bound.arguments)

    def _prepared(self, captured):
        """The author's function with the language's builtins."""
        function = self._functions.get(captured)
        if function is None:
            function = self._functions[captured] = authors.inside(captured.function)
            self._codes.add(function.__code__)
        return function

    def call_helper(self, captured, args, kwargs):
        name = captured.__name__
        if captured in self._active:
            raise LanguageError(f"'{name}' calls itself; the language has no recursion")
        function = self._prepared(captured)
        try:
            bound = authors.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            raise LanguageError(f"'{name}': {error}") from None
        bound.apply_defaults()
        annotations = captured.function.__annotations__
        for parameter, value in bound.arguments.items():
            bound.arguments[parameter] = self._helper_argument(parameter, annotations.get(parameter), value)
        symbols = {p: v for p, v in bound.arguments.items() if isinstance(annotations.get(p), ConstexprAnnotation) and isinstance(v, int)}
        for parameter, annotation in annotations.items():
            if isinstance(annotation, View):
                bound.arguments[parameter] = _helper_view(parameter, annotation, bound.arguments[parameter], symbols)
        self._active.append(captured)
        try:
            return authors.call(function, bound.arguments)
        finally:
            self._active.pop()

    def _helper_argument(self, parameter, annotation, value):
        if isinstance(annotation, ConstexprAnnotation):
            return constexpr_value(parameter, annotation, value)
        if isinstance(annotation, DType):
            return as_format(value, FORMATS[annotation.name], f"parameter '{parameter}'")
        return value

    def without_effects(self):
        return _Pure(self)

    def rounding(self):
        return _Rounding(self)

    def visit(self, what):
        """How often the running author line came here, this time included."""
        place = authors.current_place(self._codes) or {}
        key = what, place.get("filename"), place.get("line")
        self._visits[key] = self._visits.get(key, 0) + 1
        return self._visits[key]

    def author_line(self):
        place = authors.current_place(self._codes)
        return place["line"] if place else "?"

    def left_parallel(self):
        self._left = self._left or authors.current_place(self._codes)
