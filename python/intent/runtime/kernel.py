"""Callable kernels: the checks of a call, then the provider's launch."""
from __future__ import annotations

import importlib.util
import os
import threading

from .. import targets
from ..errors import ProviderError, TargetError
from ..tuning.tuner import Tuner
from . import interface as interfaces
from . import outputs as outs_of, torch_op
from .binding import Plan


class CompiledKernel:
    """A kernel for one target.

    `source` provider text, `kir` kernel IR, `mlir` final target IR, `metadata` the interface as a dict, `target` a Target,
    `cache_directory` the folder with all of these, `observation` what is known about candidates and the winner.
    The provider's runtime is loaded by the first call: a kernel can be compiled where no device is.
    """

    def __init__(self, program):
        self._generated = program
        self.target = program.target
        self.source = program.source
        self.kir = program.kir
        self.mlir = program.mlir
        self.metadata = program.metadata
        self.cache_directory = program.cache_directory
        self._plan = Plan(interfaces.read(program.metadata), _device_type(program.target))
        self._count = self._plan.count
        self._program = None
        self._tuner = None
        self._lock = threading.Lock()

    def __call__(self, *arguments, **scalars) -> None:
        """Runs on every run-time argument in declaration order, `Out` views included; scalars also by keyword. CallError, ProviderError."""
        if scalars or len(arguments) != self._count:
            values = self._plan.arrange(arguments, scalars)
        else:
            values = list(arguments)
        bound = self._plan.bind(values)
        tuner = self._tuner or self._load()
        self._program.launch(bound, tuner.row(bound))

    def run(self, *arguments, shapes=None, **keywords):
        """Runs with `Out` views allocated like the first view argument, and returns them: one array, a tuple of several, or None.

        `shapes={"W": 64}` gives extents that follow from no argument; an array in the place of such an Out does too.
        """
        values, outs = outs_of.complete(self._plan, arguments, keywords, shapes)
        bound = self._plan.bind(values)
        tuner = self._tuner or self._load()
        self._program.launch(bound, tuner.row(bound))
        return outs_of.results(values, outs)

    def prepare(self, *arguments, outputs=None, shapes=None, **keywords) -> "PreparedCall":
        """Checks, binds and decides on a configuration once, for many launches. `outputs` are all `Out` views in order; without it they are allocated as `run` does."""
        return self._prepare(*self._values(arguments, outputs, shapes, keywords))

    def _values(self, arguments, outputs, shapes, keywords):
        if outputs is not None:
            if not isinstance(outputs, (tuple, list)):
                outputs = (outputs,)
            keywords = {**keywords, **outs_of.by_name(self._plan, outputs)}
        return outs_of.complete(self._plan, arguments, keywords, shapes)

    def _prepare(self, values, outs) -> "PreparedCall":
        bound = self._plan.bind(values)
        tuner = self._tuner or self._load()
        return PreparedCall(self._program, bound, tuner.row(bound), outs)

    def tune(self, *arguments, shapes=None, **keywords) -> None:
        """Measures every candidate for such arguments now and records the winner, for this process and those to come.

        Takes what `run` or a call takes and touches no argument: trials work on copies of what the kernel writes. CallError,
        ProviderError or TargetError if no candidate compiles, or one fails in a trial.
        """
        values, _ = outs_of.complete(self._plan, arguments, keywords, shapes)
        bound = self._plan.bind(values)
        (self._tuner or self._load()).tune(bound)

    def export_winners(self, path) -> int:
        """Writes every known winner of this program to a pack file; returns how many. ConfigurationError if there is none."""
        return (self._tuner or self._load()).export(path)

    def import_winners(self, path) -> int:
        """Takes the winners of a pack; returns how many. ConfigurationError says why a stale or foreign pack is refused."""
        if self._plan.device_type != "cpu":
            targets.require_device(self.target)  # a pack names the device that it is for
        return (self._tuner or self._load()).adopt(path)

    def as_torch_op(self, name: str):
        """This kernel as the torch operator `namespace::name`, opaque to `torch.compile`, with shapes for tracing.

        It takes what `run` takes, returns new tensors for `Out` views, and changes `InOut` views in place. ConfigurationError.
        """
        return torch_op.register(self, self._plan, name)

    def save(self, directory) -> None:
        """Writes the program into a folder that `intent.GeneratedProgram.load` reads."""
        self._generated.save(directory)

    @property
    def observation(self) -> dict:
        """What is known of the latest decision about a call's configuration.

        `target`; `specialisation_key`, `tuning_key`; `candidates` as declared, then each with `status`, `reason` and `seconds`;
        `winner` with how it was found; `compilations`, how often the provider's compiler ran; `registers`, `spills` and
        `shared_memory` of the winner where the provider tells (docs/tuning.md).
        """
        found = {"target": str(self.target), "candidates": self.metadata.get("candidates", []), "winner": None, "specialisation_key": None, "tuning_key": None}
        if self._tuner is not None:
            found.update(self._tuner.observation())
        return found

    def _load(self):
        """The tuner, with the provider's runtime loaded."""
        with self._lock:
            if self._tuner is None:
                self._program = _provider_program(self._generated, self._plan.interface)
                self._tuner = Tuner(self._generated, self._plan, self._program)
            return self._tuner

    def __repr__(self):
        names = ", ".join(p.name for p in self._plan.parameters)
        return f"<CompiledKernel ({names}) for {self.target}>"


class PreparedCall:
    """One bound call: `launch()` runs it again on the same arguments, `result()` gives its Outs as `run` does. It keeps them alive."""

    def __init__(self, program, bound, row, outs):
        self._values = bound.values
        self._outs = outs
        self.launch = program.prepare(bound, row)

    def launch(self) -> None:
        """Runs the call. Each object carries its own bound version."""
        raise NotImplementedError

    def result(self):
        """The `Out` arrays: one, a tuple of several, or None."""
        return outs_of.results(self._values, self._outs)


def _device_type(target) -> str:
    """Where the arguments live. Triton's interpreter (TRITON_INTERPRET=1) works on host memory."""
    return "cpu" if target.provider == "triton" and os.environ.get("TRITON_INTERPRET") == "1" else target.device_type


def _provider_program(generated, interface):
    """The runtime of a provider for a program. TargetError where this version cannot run it, ProviderError where its package is missing."""
    provider = generated.target.provider
    if provider == "host":
        from .host import HostProgram

        return HostProgram(generated.source, interface, generated.cache_directory)
    if provider == "triton":
        if importlib.util.find_spec("triton") is None:
            raise ProviderError("running on this target needs the triton package, which is not installed")
        from ..providers.triton_runtime import TritonRuntime

        return TritonRuntime(generated.source_path, generated.metadata)
    raise TargetError(f"this version generates {provider} programs but does not launch them", category="provider_surface", feature="launch")
