"""Kernels as data: the source of a decorated function, its names and its parameters, in the shape of docs/request.md.

Nothing here judges the program: kinds of nodes and what each free name stands for are recorded, and the compiler library does
the rest. What only Python can see is checked here: the source must exist, and annotations must be what the language offers.
"""
import ast
import builtins
import linecache
import os
import types as python_types

from intent import definitions
from intent.errors import LanguageError
from intent.language.intrinsic import ACTIVE
from intent.language.types import ConstexprAnnotation, DType, Enum, TypeVar, View

# The node kinds of the language and the fields that the compiler reads. Any other kind is recorded as a leaf.
_FIELDS = {
    "FunctionDef": ("name", "args", "body"), "arguments": ("args",), "arg": ("arg",),
    "Return": ("value",), "Assign": ("targets", "value"), "AugAssign": ("target", "op", "value"), "Expr": ("value",),
    "For": ("target", "iter", "body", "orelse"), "While": ("test", "body", "orelse"), "If": ("test", "body", "orelse"),
    "Pass": (), "Break": (), "Continue": (),
    "BoolOp": ("op", "values"), "BinOp": ("left", "op", "right"), "UnaryOp": ("op", "operand"), "IfExp": ("test", "body", "orelse"),
    "Compare": ("left", "ops", "comparators"), "Call": ("func", "args", "keywords"), "keyword": ("arg", "value"),
    "Attribute": ("value", "attr"), "Subscript": ("value", "slice"), "Slice": ("lower", "upper", "step"), "Name": ("id",),
    "Tuple": ("elts",), "Constant": ("value",),
}


class _Captured:
    """A decorated function; source and names are read at the first compilation."""

    is_kernel = False

    def __init__(self, function):
        if not isinstance(function, python_types.FunctionType):
            raise LanguageError(f"@intent.{'kernel' if self.is_kernel else 'fn'} decorates a function written with def, "
                                f"got {type(function).__name__}")
        self.function = function
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__doc__, self.__module__, self.__wrapped__ = function.__doc__, function.__module__, function
        self._source = None

    def __repr__(self):
        return f"<intent.{'kernel' if self.is_kernel else 'fn'} {self.__qualname__}>"

    def source(self):
        """The captured text of this function, read once for each code object."""
        if self._source is None or self._source.code is not self.function.__code__:
            self._source = _Source(self.function)
        return self._source


class KernelFunction(_Captured):
    """One logical computation, compiled to one artifact and executed by one launch."""

    is_kernel = True

    def __call__(self, *arguments, **constexprs):
        if ACTIVE.get() is not None:
            raise LanguageError(f"'{self.__name__}' is a kernel; a kernel calls @intent.fn helpers, and host code launches kernels")
        from intent import compiler
        return compiler.call(self, arguments, constexprs)


class HelperFunction(_Captured):
    """A typed helper that kernels call; it has no effect of its own outside one."""

    def __call__(self, *arguments, **keywords):
        interpreter = ACTIVE.get()
        if interpreter is not None:
            return interpreter.call_helper(self, arguments, keywords)
        raise LanguageError(f"{self.__name__} is an @intent.fn: it works only inside @intent.kernel and @intent.fn")


def kernel(function):
    """Decorator of a kernel: one computation over its annotated views and scalars. Capture is lazy."""
    return KernelFunction(function)


def fn(function):
    """Decorator of a helper that kernels and other helpers call. Capture is lazy."""
    return HelperFunction(function)


class _Source:
    """Nodes of one function, children first, numbered from 0."""

    def __init__(self, function):
        self.code = function.__code__
        self.path = self.code.co_filename
        self.file = os.path.basename(self.path)
        self.lines = [line.rstrip("\n") for line in linecache.getlines(self.path, function.__globals__)]
        if not self.lines:
            raise LanguageError(f"the source of '{function.__name__}' is not available: a kernel lives in a file or a notebook cell")
        self.definition = definitions.find(self, function)
        definitions.check(self, function)
        arguments = self.definition.args
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                raise self.error(extra, f"parameter '{extra.arg}' of '{function.__name__}' collects arguments; the language has fixed parameters")
        self.arguments = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.nodes, self.root, self.numbers = _flatten(self.definition, self.arguments)
        self.free = _free_names(self.definition, self.arguments, self.code)

    def error(self, node, message):
        return definitions.located(self.file, self.lines, node, message)


def _children(node, arguments):
    """The recorded fields of a node: nodes, lists, strings and None."""
    kind = type(node).__name__
    if isinstance(node, ast.arguments):
        return {"args": arguments}
    if kind == "FunctionDef":
        body = node.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]
        return {"name": node.name, "args": node.args, "body": body}
    fields = {}
    for field in _FIELDS.get(kind, ()):
        value = getattr(node, field)
        if isinstance(value, (ast.operator, ast.unaryop, ast.boolop)):
            value = type(value).__name__
        elif field == "ops":
            value = [type(op).__name__ for op in value]
        fields[field] = value
    return fields


def _flatten(root, arguments):
    nodes, numbers = [], {}
    stack = [(root, None)]
    while stack:
        node, fields = stack.pop()
        if fields is None:
            kind = type(node).__name__
            if node is not root and kind == "FunctionDef" or kind == "Constant" and isinstance(node.value, (bytes, complex)):
                fields = {}
            else:
                fields = {} if kind == "Constant" else _children(node, arguments)
            stack.append((node, fields))
            for value in reversed(list(fields.values())):
                for child in reversed(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.AST):
                        stack.append((child, None))
            continue
        kind = type(node).__name__
        if kind == "Constant":
            constant = _constant(node.value)
            recorded = {"value": constant} if constant is not None else {}
            kind = kind if constant is not None else type(node.value).__name__.capitalize()
        elif node is not root and kind == "FunctionDef":
            recorded, kind = {}, "NestedFunction"
        else:
            recorded = {name: _number(value, numbers) for name, value in fields.items()}
        place = node if hasattr(node, "lineno") else root
        numbers[node] = len(nodes)
        nodes.append((kind, place.lineno, place.col_offset, place.end_lineno, place.end_col_offset, recorded))
    return nodes, numbers[root], numbers


class _Number(int):
    """A node number inside fields, told apart from other integers."""


def _number(value, numbers):
    if isinstance(value, list):
        return [_Number(numbers[v]) if isinstance(v, ast.AST) else v for v in value]
    return _Number(numbers[value]) if isinstance(value, ast.AST) else value


def _free_names(definition, arguments, code):
    """Names that the body reads and does not bind, each with the attribute chains that follow it."""
    bound = {*code.co_varnames, *code.co_cellvars}
    free = {}
    stack = list(reversed(definition.body))
    while stack:
        node = stack.pop()
        chain, base = [], node
        while isinstance(base, ast.Attribute):
            chain.append(base.attr)
            base = base.value
        if isinstance(base, ast.Name):
            if isinstance(base.ctx, ast.Load) and base.id not in bound:
                free.setdefault(base.id, set()).add(tuple(reversed(chain)))
            if chain:
                continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return free


# -- objects ------------------------------------------------------------------------------------------------

def _constant(value, session=None, depth=0):
    """The constant of docs/request.md, or None if the object is not one."""
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Enum):
        return None if session is None else {"enum": {"type": session.enum_name(type(value)), "member": value.name}}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        try:
            return {"int": str(int(value))}
        except ValueError:  # beyond sys.get_int_max_str_digits
            return None
    if isinstance(value, float):
        return {"float": "nan" if value != value else float(value).hex() if abs(value) != float("inf") else ("inf" if value > 0 else "-inf")}
    if isinstance(value, str):
        return {"str": str(value)}
    if value is None:
        return {"none": True}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, tuple) and depth < 16:
        items = [_constant(item, session, depth + 1) for item in value]
        return None if None in items else {"tuple": items}
    return None


def float_of(value):
    """The float that an int stands for, any other object as it is. LanguageError where f64 holds none as large."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        raise LanguageError(f"expected an int that f64 holds, got one of {value.bit_length()} bits") from None


class _Session:
    """One request: functions in discovery order, files and nodes appended as they are met."""

    def __init__(self):
        self.files, self.nodes, self.functions = [], [], []
        self.file_numbers, self.function_numbers, self.enum_names = {}, {}, {}
        self.pending = []

    def enum_name(self, cls):
        name = self.enum_names.get(cls)
        if name is None:
            name = cls.__name__
            if name in self.enum_names.values():
                name = f"{cls.__module__}.{cls.__qualname__}"
            while name in self.enum_names.values():
                name += "'"
            self.enum_names[cls] = name
        return name

    def function(self, captured):
        number = self.function_numbers.get(captured)
        if number is None:
            number = self.function_numbers[captured] = len(self.functions)
            self.functions.append(None)
            self.pending.append(captured)
        return number

    def meaning(self, value):
        if isinstance(value, python_types.ModuleType):
            return {"module": value.__name__}
        name = getattr(value, "__dict__", {}).get("__intent_intrinsic__") if not isinstance(value, type) else None
        if name is not None:
            return {"intrinsic": name}
        if isinstance(value, _Captured):
            return {"function": self.function(value)}
        if isinstance(value, type) and issubclass(value, Enum):
            return {"enum": {"name": self.enum_name(value), "members": list(value.__members__)}}
        if isinstance(value, TypeVar):
            return {"typevar": {"name": value.name, "dtypes": [d.name for d in value.dtypes]}}
        constant = _constant(value, self)
        if constant is not None:
            return {"constant": constant}
        name = getattr(value, "__name__", None)
        if isinstance(name, str) and getattr(builtins, name, None) is value:
            return {"builtin": name}
        return {"unsupported": type(value).__name__}

    def add(self, captured):
        source, function = captured.source(), captured.function
        file = self.file_numbers.get(source.path)
        if file is None:
            file = self.file_numbers[source.path] = len(self.files)
            self.files.append({"name": source.file, "lines": source.lines})
        base = len(self.nodes)

        def shifted(value):
            if isinstance(value, list):
                return [shifted(v) for v in value]
            return int(value) + base if isinstance(value, _Number) else value

        for kind, line, column, end_line, end_column, fields in source.nodes:
            self.nodes.append([kind, file, line, column, end_line, end_column, {k: shifted(v) for k, v in fields.items()}])
        self.functions[self.function_numbers[captured]] = {
            "name": function.__name__, "file": file, "root": source.root + base, "kernel": captured.is_kernel,
            "params": [self.parameter(captured, source, argument, base) for argument in source.arguments],
            "names": self.names(source, function)}

    def names(self, source, function):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        names = {}
        for name, chains in source.free.items():
            try:
                value = _lookup(name, function, cells)
            except KeyError:
                continue
            names[name] = self.meaning(value)
            if not isinstance(value, python_types.ModuleType) or value.__name__.split(".")[0] == "intent":
                continue
            for chain in sorted(chains):
                path, at = name, value
                for attribute in chain:
                    if not isinstance(at, python_types.ModuleType) or not hasattr(at, attribute):
                        break
                    at = getattr(at, attribute)
                    path += "." + attribute
                    names[path] = self.meaning(at)
        return names

    def parameter(self, captured, source, argument, base):
        function = captured.function
        name = argument.arg
        described = {"name": name, "node": source.numbers[argument] + base}
        annotation = _annotation(function, source, argument)
        default = _default(function, name)

        def constant(real=False):
            if default is _missing:
                return None
            try:
                value = _constant(float_of(default) if real else default, self)
            except LanguageError as error:
                raise source.error(argument, f"default of parameter '{name}': {error.message}") from None
            if value is None:
                raise source.error(argument, f"default of parameter '{name}': expected an immutable constant, got {type(default).__name__}")
            return value

        if isinstance(annotation, ConstexprAnnotation):
            kind = annotation.type
            spelled = {"enum": self.enum_name(kind)} if issubclass(kind, Enum) else kind.__name__
            return {"kind": "constexpr", **described, "type": spelled, "default": constant(kind is float)}
        if isinstance(annotation, View):
            if default is not _missing:
                raise source.error(argument, f"parameter '{name}' is a view and takes no default")
            limits = annotation.constraints
            strides = None if limits.strides is None else list(limits.strides)
            for item in (*annotation.shape, *(strides or ())):
                if not _nameable(item):
                    expected = f"a symbol without {_RESERVED}" if isinstance(item, str) else "an int of 64 bits"
                    raise source.error(argument.annotation or argument, f"parameter '{name}': expected {expected}, got {_shown(item)}")
            return {"kind": "view", **described, "access": annotation.access, "dtype": _dtype(annotation.dtype), "shape": list(annotation.shape),
                    "noalias": limits.noalias, "alias": limits.alias, "strides": strides}
        if isinstance(annotation, (DType, TypeVar)):
            real = isinstance(annotation, DType) and annotation.name[0] in "bf" and annotation.name != "bool"
            return {"kind": "scalar", **described, "dtype": _dtype(annotation), "default": constant(real)}
        if captured.is_kernel:
            what = "has no annotation" if annotation is _missing else f"is annotated with {annotation!r}"
            raise source.error(argument, f"parameter '{name}' {what}; expected I.In, I.Out or I.InOut, a dtype, or I.Constexpr")
        return {"kind": "value", **described, "default": constant()}


_missing = object()
# What launch expressions, kernel IR and the names of the compiler's own symbols are made of (lib/Frontend/Request.cpp).
_RESERVED = 'any of " \\ ? % #, line ends and surrogates'


def _nameable(item):
    """Whether a shape or stride item can stand in a request."""
    if isinstance(item, str):
        return not any(c in '"\\\n?%#' or "\ud800" <= c <= "\udfff" for c in item)
    return item is None or -1 << 63 <= item < 1 << 63


def _shown(item):
    return repr(item) if isinstance(item, str) or item.bit_length() <= 128 else f"one of {item.bit_length()} bits"


def _dtype(element):
    if isinstance(element, TypeVar):
        return {"typevar": element.name, "dtypes": [d.name for d in element.dtypes]}
    return element.name


def _lookup(name, function, cells):
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:
            raise KeyError(name) from None
    if name in function.__globals__:
        return function.__globals__[name]
    return vars(builtins)[name]


def _annotation(function, source, argument):
    annotation = function.__annotations__.get(argument.arg, _missing)
    if not isinstance(annotation, str):
        return annotation
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    local = {name: cell.cell_contents for name, cell in cells.items() if _filled(cell)}
    try:
        return eval(annotation, function.__globals__, local)
    except LanguageError as error:
        raise source.error(argument, f"annotation of parameter '{argument.arg}': {error.message}") from None
    except Exception as error:
        raise source.error(argument, f"annotation of parameter '{argument.arg}' does not evaluate: {error}") from None


def _filled(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _default(function, name):
    if function.__kwdefaults__ and name in function.__kwdefaults__:
        return function.__kwdefaults__[name]
    code, defaults = function.__code__, function.__defaults__ or ()
    positional = code.co_varnames[:code.co_argcount]
    if name in positional:
        at = positional.index(name) - (len(positional) - len(defaults))
        if at >= 0:
            return defaults[at]
    return _missing


def capture(kernel, constexprs=None, types=None):
    """The `files`, `nodes`, `functions`, `entry`, `constexprs` and `types` of a request (docs/request.md).

    `constexprs` maps parameter names to immutable values, `types` type variables to dtypes or their names.
    Raises `LanguageError` where there is no source or an annotation, default or value is not of the language.
    """
    if not isinstance(kernel, KernelFunction):
        raise LanguageError(f"expected a function decorated with @intent.kernel, got {type(kernel).__name__}")
    session = _Session()
    entry = session.function(kernel)
    while session.pending:
        session.add(session.pending.pop())
    bound = {}
    declared = {p["name"]: p for p in session.functions[entry]["params"] if p["kind"] == "constexpr"}
    for name, value in (constexprs or {}).items():
        try:
            bound[name] = _constant(float_of(value) if declared.get(name, {}).get("type") == "float" else value, session)
        except LanguageError as error:
            raise LanguageError(f"constexpr '{name}': {error.message}") from None
        if bound[name] is None:
            raise LanguageError(f"constexpr '{name}': expected an int, float, bool, str or enum member, got {type(value).__name__}")
    chosen = {}
    for name, value in (types or {}).items():
        if not isinstance(value, (DType, str)):
            raise LanguageError(f"type variable '{name}': expected a dtype, got {type(value).__name__}")
        chosen[name] = value.name if isinstance(value, DType) else value
    return {"files": session.files, "nodes": session.nodes, "functions": session.functions, "entry": entry, "constexprs": bound,
            "types": chosen}
