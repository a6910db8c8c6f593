"""Kernels with pinned extents: one program a value, in which the extent is a constant."""
from __future__ import annotations

import threading

from ..errors import ConfigurationError
from . import outputs as outs_of
from .interface import symbol_of
from .kernel import CompiledKernel, PreparedCall


def pinned_names(specialize) -> tuple:
    """The symbols that a caller pins, sorted. ConfigurationError for anything but a tuple or list of names."""
    if isinstance(specialize, str) or not isinstance(specialize, (tuple, list)) or not all(isinstance(name, str) for name in specialize):
        raise ConfigurationError(f"specialize is a tuple of shape symbols, not {specialize!r}", source="specialize")
    return tuple(sorted(set(specialize)))


class SpecialisedKernel(CompiledKernel):
    """A kernel that compiles one program for each value of the pinned extents that it is called with.

    Its texts and metadata are those of the program without pins, which checks arguments and never runs; `program_for(N=128)` gives the
    compiled kernel of one value.
    """

    def __init__(self, general: CompiledKernel, names: tuple, compile_pinned):
        super().__init__(general._generated)
        known = sorted({name for _, view in self._plan.views for name in map(symbol_of, view.shape) if name})
        for name in names:
            if name not in known:
                raise ConfigurationError(f"no shape symbol is named {name!r}; the symbols: {', '.join(known) or 'none'}", source="specialize")
        self._names = names
        self._compile_pinned = compile_pinned
        self._pinned: dict = {}
        self._pinning = threading.Lock()
        self._latest: CompiledKernel | None = None

    def program_for(self, **extents) -> CompiledKernel:
        """The kernel for these values of the pinned extents, compiled on first use. Raises as `intent.compile` does."""
        if set(extents) != set(self._names) or not all(type(value) is int and value >= 0 for value in extents.values()):
            raise ConfigurationError(f"expected a non-negative int for each of {', '.join(self._names)}, got {extents!r}", source="specialize")
        return self._of(tuple(extents[name] for name in self._names))

    def _of(self, key) -> CompiledKernel:
        found = self._pinned.get(key)
        if found is None:
            with self._pinning:
                found = self._pinned.get(key)
                if found is None:
                    found = self._pinned[key] = self._compile_pinned(dict(zip(self._names, key)))
        self._latest = found
        return found

    def _kernel(self, values) -> CompiledKernel:
        symbols = self._plan.bind(list(values)).symbols
        return self._of(tuple([symbols[name] for name in self._names]))

    def __call__(self, *arguments, **scalars) -> None:
        values = self._plan.arrange(arguments, scalars)
        self._kernel(values)(*values)

    def run(self, *arguments, shapes=None, **keywords):
        values, outs = outs_of.complete(self._plan, arguments, keywords, shapes)
        self._kernel(values)(*values)
        return outs_of.results(values, outs)

    def prepare(self, *arguments, outputs=None, shapes=None, **keywords) -> PreparedCall:
        values, outs = self._values(arguments, outputs, shapes, keywords)
        return self._kernel(values)._prepare(values, outs)

    def tune(self, *arguments, shapes=None, **keywords) -> None:
        values, _ = outs_of.complete(self._plan, arguments, keywords, shapes)
        self._kernel(values).tune(*values)

    def export_winners(self, path) -> int:
        raise ConfigurationError("winners belong to one program each; export those of program_for(...)", source=str(path))

    def import_winners(self, path) -> int:
        raise ConfigurationError("winners belong to one program each; import into program_for(...)", source=str(path))

    @property
    def observation(self) -> dict:
        """That of the program called last, which `pinned` names."""
        latest = self._latest
        if latest is None:
            return {**super().observation, "pinned": None}
        return {**latest.observation, "pinned": next(dict(zip(self._names, key)) for key, kernel in self._pinned.items() if kernel is latest)}
