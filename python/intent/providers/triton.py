"""Running generated Triton modules.

The generated module says everything about a launch in its `VARIANTS` table, as plain Python over extents and parameters.
This file evaluates that table for a call, compiles the kernel for the facts that the call has (index width, unit strides,
divisibility by 16, aligned pointers), and keeps what it found for the next call with the same facts.

The kernel is compiled from an explicit signature and not through the JIT's own specialisation: that would compile again
for every row count that happens to be 1 or divisible by 16, and would type an extent by its value.
"""
from __future__ import annotations

import functools
import importlib.util
import os
import sys
import threading
from dataclasses import dataclass

from ..errors import ProviderError
from .triton_workspaces import Workspace, Workspaces

_GRID_LIMIT = 2**31 - 1
_CACHE_LIMIT = 1024


class TritonProgram:
    """A generated module, loaded by the first launch. Launches may come from several threads.

    `metadata` is the artifact's interface, kept for callers; everything a launch needs is in the module.
    """

    def __init__(self, source_path, metadata=None):
        self.source_path = os.fspath(source_path)
        self.metadata = metadata
        self.compilations = 0
        self._module = None
        self._lock = threading.Lock()
        self._launches: dict = {}
        self._compiled: dict = {}

    @property
    def module(self):
        """The generated Python module."""
        if self._module is None:
            with self._lock:
                if self._module is None:
                    self._module = load_module(self.source_path)
        return self._module

    @property
    def variants(self) -> list:
        """The module's `VARIANTS`."""
        return self.module.VARIANTS

    def launch(self, bound, row: int | None = None) -> None:
        """Runs one checked call on the current stream: tensors and Python numbers in declaration order, or a `Bound`.

        `row` is a configuration row of the chosen variant, the first one without it. ProviderError.
        """
        values, pointers = _values(bound)
        if pointers is None:
            launch = self._specialise(values, pointers, row)
        else:
            # The binding's layout stands for extents, strides, dtypes and devices.
            known = bound.layout.provider_data
            if known is None:
                known = bound.layout.provider_data = {}
            key = (self, row, *[pointer & 15 == 0 for pointer in pointers], *[v for v in values if isinstance(v, int)])
            launch = known.get(key)
            if launch is None:
                launch = known[key] = self._specialise(values, pointers, row)
        if launch is not _EMPTY:
            launch(values, pointers)

    def prepare(self, bound, row: int | None = None):
        """A function without arguments that runs this call again and again; it keeps the arguments alive."""
        values, pointers = _values(bound)
        launch = self._specialise(values, pointers, row)
        if launch is _EMPTY:
            return lambda: None
        run = launch.bind(values, pointers)
        run.keep = (bound, self)
        return run

    def plan(self, bound, row: int | None = None) -> "Plan":
        """What a launch of this call would compile and run, with nothing compiled yet."""
        values, _ = _values(bound)
        return plan(self.module, values, row)

    def _specialise(self, values, pointers, row):
        key = _signature(values, pointers, row)
        launch = self._launches.get(key)
        if launch is not None:
            return launch
        planned = plan(self.module, values, row)
        if planned.grid == 0:
            launch = _EMPTY
        elif _interpreted():
            launch = _Interpreted(planned)
        else:
            with self._device_of(planned):
                compiled = self._compile(planned)
            launch = self._launcher(planned, compiled)
        if len(self._launches) >= _CACHE_LIMIT:
            self._launches.clear()
        self._launches[key] = launch
        return launch

    def _compile(self, planned):
        """The compiled kernel of a plan, on the current device. ProviderError."""
        key = (self._device_number(), planned.key)
        compiled = self._compiled.get(key)
        if compiled is None:
            try:
                compiled = self._loaded(compile_plan(planned, self._target()))
            except Exception as error:
                raise ProviderError(f"Triton cannot compile variant {planned.variant['name']!r} with {planned.configuration}", original=error) from error
            self._compiled[key] = compiled
            self.compilations += 1
        return compiled

    # What needs a device; a program without one replaces these five.

    def _device_of(self, planned):
        """A context in which the device of the call's tensors is current."""
        import torch

        return torch.cuda.device(_device_index(planned))

    def _target(self):
        import triton

        return triton.runtime.driver.active.get_current_target()

    def _device_number(self) -> int:
        import triton

        return triton.runtime.driver.active.get_current_device()

    def _loaded(self, compiled):
        compiled._init_handles()
        return compiled

    def _launcher(self, planned, compiled):
        return _Launch(planned, compiled)


# -- from a call to what is compiled -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """One variant bound for one call. `arguments` are the kernel's, without constants; `signature`, `constants`, `attributes`
    are what `triton.compiler.ASTSource` takes; `key` tells compiled kernels apart."""

    variant: dict
    configuration: dict
    grid: int
    arguments: tuple
    signature: dict
    constants: dict
    attributes: dict
    options: dict
    key: tuple
    view_positions: tuple


def plan(module, values, row=None) -> Plan:
    """The variant, configuration, grid and specialisation of a call on tensors (or what has `shape`, `stride()`, `data_ptr()`)."""
    names = module.symbols.__code__.co_varnames[: module.symbols.__code__.co_argcount]
    environment = dict(zip(names, values))
    environment.update(module.symbols(*values))
    variant = next((v for v in module.VARIANTS if v["guard"](**environment)), None)
    if variant is None:
        raise ProviderError("no variant of the program admits this call")
    coverage = variant["coverage"](**environment)
    configs, where = variant["configs"], variant.get("where", {})
    # A row that needs a fact of the call, such as an aligned pitch, is a candidate only where the call has it; rows meant for the call's
    # extents come first.
    meant = [config for at, config in enumerate(configs) if at not in where or where[at](**environment)] or configs
    for config in meant if row is None else [configs[row]]:
        constants = {**config.kwargs, **coverage}
        bound = {**environment, **constants}
        narrow = variant["index32"](**bound) and all(_offsets_fit(v) for v in values if hasattr(v, "data_ptr"))
        descriptors = variant["descriptors"](**bound) if constants.get("USE_TENSOR_DESCRIPTOR") and "descriptors" in variant else ()
        if not descriptors or narrow and all(_describable(view) for view, _ in descriptors):
            break
    else:
        raise ProviderError("no configuration row can run this call: tensor descriptors need unit inner strides, pitches and addresses divisible by 16 bytes")
    grid = variant["grid"](**bound)
    if grid > _GRID_LIMIT:
        raise ProviderError(f"the grid of {grid} instances is above the limit of {_GRID_LIMIT}")
    arguments = tuple(variant["arguments"](**bound))
    if "workspaces" in variant:
        arguments += tuple(Workspace(dtype, tuple(shape), zeroed) for dtype, shape, zeroed in variant["workspaces"](**bound))
    return _specialised(module, variant, config, constants, grid, arguments, descriptors, narrow)


def _specialised(module, variant, config, constants, grid, arguments, descriptors, narrow) -> Plan:
    import triton.language as tl

    parameters = variant["kernel"].arg_names
    signature, attributes, fixed = {}, {}, {}
    views = []
    for at, (name, kind, value) in enumerate(zip(parameters, variant["signature"], arguments)):
        divisible = False
        if kind.startswith("*"):
            signature[name] = kind
            divisible = value.data_ptr() % 16 == 0
            if not isinstance(value, Workspace):
                views.append(at)
        elif kind == "stride" and value == 1:
            signature[name] = "constexpr"
            fixed[name] = 1
        elif kind in ("stride", "extent", "extent/16"):
            signature[name] = "i32" if narrow else "i64"
            divisible = kind != "extent" and value % 16 == 0
        else:
            signature[name] = kind
        if divisible:
            attributes[(at,)] = [["tt.divisibility", 16]]
    for view, block in descriptors:
        element = variant["signature"][next(at for at in views if arguments[at] is view)][1:]
        signature[parameters[len(signature)]] = f"tensordesc<{element}{block}>"
        arguments += (_descriptor(view, block),)
    constants = {**constants, "INDEX": tl.int32 if narrow else tl.int64}
    for name in parameters[len(arguments):]:
        signature[name] = "constexpr"
        fixed[name] = constants.get(name)  # an unused descriptor is None
    options = dict(num_warps=config.num_warps, num_stages=config.num_stages, num_ctas=config.num_ctas, **module.OPTIONS)
    key = (variant["name"], tuple(signature.values()), tuple((k, str(v)) for k, v in fixed.items()), tuple(attributes), tuple(options.items()))
    configuration = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages, "num_ctas": config.num_ctas}
    return Plan(variant, configuration, grid, arguments, signature, fixed, attributes, options, key, tuple(views))


def _describable(view) -> bool:
    """Whether a tensor descriptor of the view copies right data: Triton itself does not check a pitch."""
    *outer, inner = view.stride()
    return inner == 1 and view.data_ptr() % 16 == 0 and all(s > 0 and s * _itemsize(view) % 16 == 0 for s in outer) and all(view.shape)


def _itemsize(view) -> int:
    return view.element_size() if hasattr(view, "element_size") else view.itemsize


def _descriptor(view, block):
    if not hasattr(view, "element_size"):
        return None  # compiled, never launched
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(view, block)


def _offsets_fit(view) -> bool:
    """Whether the element offsets of every coordinate fit 32 bits."""
    return sum((extent - 1) * abs(stride) for extent, stride in zip(view.shape, view.stride()) if extent > 0) < 2**31


def compile_plan(planned: Plan, target):
    """The `CompiledKernel` of a plan for a `GPUTarget`; needs no device. Triton's exceptions pass."""
    return compile_signature(planned.variant["kernel"], planned.signature, planned.constants, planned.attributes, planned.options, target)


def compile_signature(kernel, signature, constants, attributes, options, target):
    """The `CompiledKernel` of a `@triton.jit` function for what a plan holds."""
    import triton
    from triton.compiler import ASTSource

    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    if target.backend == "hip":
        options = {name: value for name, value in options.items() if name != "enable_reflect_ftz"}
    return triton.compile(source, target=target, options=options)


# -- launches ----------------------------------------------------------------------------------------------------------------


def _values(bound):
    """The arguments in declaration order, and the addresses of the views where the binding already has them."""
    return getattr(bound, "values", bound), getattr(bound, "pointers", None)


def _signature(values, pointers, row):
    """What decides a launch: extents, strides, alignment and device of each view, and every integer."""
    key = [row]
    for value in values:
        if hasattr(value, "data_ptr"):
            key.append((value.shape, value.stride(), value.dtype, value.device, value.data_ptr() % 16 == 0))
        elif isinstance(value, int):
            key.append(value)
    return tuple(key)


def _with_addresses(values, pointers):
    """The values with each view as its address, which spares the launcher a question to the driver."""
    addresses = iter(pointers)
    return [next(addresses) if hasattr(value, "data_ptr") else value for value in values]


def _active(hook):
    """A launch hook of Triton's if anything is registered in it, else None, which spares the launcher a Python call."""
    return hook if getattr(hook, "calls", hook) else None


class _Launch:
    """A compiled kernel with everything but the addresses and floating scalars of a call."""

    __slots__ = ("run", "grid", "function", "metadata", "arguments", "descriptors", "device", "driver", "compiled", "knobs", "workspaces")

    def __init__(self, planned: Plan, compiled):
        import triton

        self.driver = triton.runtime.driver.active
        self.knobs = triton.knobs.runtime
        self.compiled = compiled
        self.run = compiled.run
        self.grid = planned.grid
        self.function = compiled.function
        self.metadata = compiled.packed_metadata
        self.arguments = planned.arguments + tuple(planned.constants[name] for name in list(planned.signature)[len(planned.arguments):])
        # Where descriptors stand, which view each one describes, and its block: a later call has other addresses.
        self.descriptors = [(at, next(i for i in planned.view_positions if planned.arguments[i] is argument.base), argument.block_shape)
                            for at, argument in enumerate(planned.arguments) if hasattr(argument, "block_shape")]
        self.device = _device_index(planned)
        self.workspaces = self._new_workspaces()

    def _new_workspaces(self, retain=False):
        import torch

        return Workspaces(self.arguments, torch.device("cuda", self.device), retain)

    def __call__(self, values, pointers):
        arguments = self._arguments(values, pointers)
        current = self.driver.get_current_device()
        if current != self.device:
            return self._elsewhere(arguments)
        self._go(arguments, self.driver.get_current_stream(current))

    def _arguments(self, values, pointers):
        arguments = [*(values if pointers is None else _with_addresses(values, pointers)), *self.arguments[len(values):]]
        for at, view, block in self.descriptors:
            arguments[at] = _descriptor(values[view], block)
        return arguments

    def _go(self, arguments, stream, workspaces=None):
        workspaces = self.workspaces if workspaces is None else workspaces
        if workspaces:
            workspaces.fill(arguments, stream)
        enter, leave, about = _active(self.knobs.launch_enter_hook), _active(self.knobs.launch_exit_hook), None
        if enter is not None or leave is not None:
            about = self.compiled.launch_metadata((self.grid, 1, 1), stream, *arguments)
        try:
            self.run(self.grid, 1, 1, stream, self.function, self.metadata, about, enter, leave, *arguments)
        except Exception as error:
            workspaces.drop(stream)
            raise ProviderError("the launch failed", original=error) from error

    def _elsewhere(self, arguments, workspaces=None):
        import torch

        with torch.cuda.device(self.device):
            self._go(arguments, self.driver.get_current_stream(self.device), workspaces)

    def bind(self, values, pointers):
        """A function that repeats one call with the least work."""
        if pointers is None:
            pointers = [value.data_ptr() for value in values if hasattr(value, "data_ptr")]
        arguments = tuple(self._arguments(values, pointers))
        # Positional up to here: grid, then per launch the stream, then what never changes.
        run = functools.partial(self.run, self.grid, 1, 1)
        function, metadata, stream_of, device = self.function, self.metadata, self.driver.get_current_stream, self.device
        knobs, slow = self.knobs, self._go
        if self.workspaces:
            workspaces = self._new_workspaces(retain=True)

            def launch_with_memory():
                if self.driver.get_current_device() != device:
                    return self._elsewhere(list(arguments), workspaces)
                slow(list(arguments), stream_of(device), workspaces)

            return launch_with_memory

        def launch():
            if _active(knobs.launch_enter_hook) is not None or _active(knobs.launch_exit_hook) is not None:
                return slow(arguments, stream_of(device))
            run(stream_of(device), function, metadata, None, None, None, *arguments)

        return launch


class _Interpreted:
    """The same launch through Triton's interpreter on CPU tensors (TRITON_INTERPRET=1), for tests."""

    def __init__(self, planned: Plan):
        self.planned = planned

    def __call__(self, values, pointers):
        planned = self.planned
        arguments = (*values, *(a.allocate("cpu") if isinstance(a, Workspace) else a for a in planned.arguments[len(values):]))
        kernel = planned.variant["kernel"]
        constants = {name: planned.constants[name] for name in list(planned.signature)[len(arguments):]}
        try:
            kernel[(planned.grid,)](*arguments, **constants)
        except Exception as error:
            raise ProviderError("the interpreter failed", original=error) from error

    def bind(self, values, pointers):
        return functools.partial(self.__call__, list(values), pointers)


_EMPTY = object()  # a launch of no instances


def _interpreted() -> bool:
    import triton

    return bool(triton.knobs.runtime.interpret)


def _device_index(planned):
    for at in planned.view_positions:
        device = planned.arguments[at].device
        if device.index is not None:
            return device.index
    import triton

    return triton.runtime.driver.active.get_current_device()


# -- modules -----------------------------------------------------------------------------------------------------------------


def load_module(source_path):
    """Imports a generated module from its file: Triton reads the kernels' text back from it. ProviderError."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        raise ProviderError("running Triton programs needs the package triton (3.6 to 3.9)", original=error) from error
    name = f"intent_generated_{abs(hash(os.path.abspath(source_path))):x}"
    spec = importlib.util.spec_from_file_location(name, source_path)
    if spec is None:
        raise ProviderError(f"{source_path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Reading a kernel's text back goes through the module of that name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ProviderError(f"cannot import {source_path}", original=error) from error
    return module


# -- offline compilation -----------------------------------------------------------------------------------------------------


class _Shape:
    """A view without memory, for plans made where no device is."""

    def __init__(self, shape, strides=None, aligned=True, itemsize=2):
        self.shape = tuple(shape)
        self.itemsize = itemsize
        if strides is None:
            strides, step = [], 1
            for extent in reversed(self.shape):
                strides.insert(0, step)
                step *= extent
        self._strides = tuple(strides)
        self._address = 0 if aligned else 4

    def stride(self, axis=None):
        return self._strides if axis is None else self._strides[axis]

    def data_ptr(self):
        return self._address


def gpu_target(arch: str):
    """The `GPUTarget` of `sm_90`, `gfx942`..."""
    from triton.backends.compiler import GPUTarget

    if arch.startswith("sm_"):
        return GPUTarget("cuda", int(arch[3:]), 32)
    return GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)


def compile_offline(source_path, arch: str, values, row: int | None = None, shapes=None):
    """Compiles what a call would launch, with no device and no torch; returns the `CompiledKernel`.

    `values` holds, in declaration order, a shape tuple for each view and a number for each scalar. ProviderError.
    """
    module = load_module(source_path) if not hasattr(source_path, "VARIANTS") else source_path
    stands = [_Shape(value) if isinstance(value, (tuple, list)) else value for value in values]
    planned = plan(module, stands, row)
    try:
        return compile_plan(planned, gpu_target(arch))
    except Exception as error:
        raise ProviderError(f"Triton cannot compile variant {planned.variant['name']!r} for {arch}", original=error) from error
