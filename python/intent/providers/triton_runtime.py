"""What the tuner asks of Triton programs: which rows a call can run, compilation in worker processes, trials and timing.

Candidates are measured by Triton's own `Autotuner` over the module's `triton.Config` rows. It decides order and winner and says what it
does where TRITON_PRINT_AUTOTUNING asks; what it launches are our compiled kernels on trial arguments, and its measuring function
restores those outside the timed span.
"""
from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os

from ..errors import ProviderError, TargetError
from ..tuning.timing import DeviceClock, HostClock
from ..tuning.torch_memory import TorchMemory
from . import compiler_pool
from .triton import _EMPTY, TritonProgram, _interpreted, _values
from .triton_worker import warm_up


class TritonRuntime(TritonProgram):
    """A Triton program as a runtime in the sense of `tuning.tuner`. It measures without being asked, but not in Triton's interpreter."""

    @property
    def tunes_unasked(self) -> bool:
        return not _interpreted()

    def facts(self, bound):
        """Beside a layout, the alignment of each address: what decides a specialisation."""
        return tuple([pointer & 15 == 0 for pointer in bound.pointers])

    def eligible(self, bound, selection) -> tuple:
        # Only descriptors ask for facts of the call.
        if not any(candidate.values.get("USE_TENSOR_DESCRIPTOR") for candidate in selection.candidates):
            return list(selection.candidates), []
        able, excluded = [], []
        for candidate in selection.candidates:
            try:
                self.plan(bound, candidate.index)
                able.append(candidate)
            except ProviderError as refusal:
                excluded.append((candidate, refusal.message))
        return able, excluded

    def specialisation(self, bound, selection, candidates) -> dict:
        planned = self.plan(bound, candidates[0].index)
        arguments = list(planned.signature.items())[: len(planned.variant["signature"])]
        facts = {}
        for at, (name, kind) in enumerate(arguments):
            facts[name] = f"{planned.constants[name]}" if kind == "constexpr" else f"{kind} /16" if (at,) in planned.attributes else kind
        return {"variant": selection.variant, "coverage": selection.coverage, "arguments": facts, "rows": [c.index for c in candidates]}

    # -- compilation ---------------------------------------------------------------------------------------------

    def compile(self, bound, candidates, limit) -> dict:
        """Compiles what is new, in worker processes within `limit` seconds each; in this one where `limit` is None: it has been compiled before."""
        if _interpreted():
            return {}
        plans, errors = {}, {}
        for candidate in candidates:
            try:
                planned = self.plan(bound, candidate.index)
            except ProviderError as refusal:  # a grid above the limit
                errors[candidate.index] = refusal
                continue
            if planned.grid:
                plans[candidate.index] = planned
        if not plans:
            return errors
        with self._device_of(next(iter(plans.values()))):
            device = self._device_number()
            new = [index for index, planned in plans.items() if (device, planned.key) not in self._compiled]
            if limit is not None and new:
                jobs = [self._job(plans[index]) for index in new]
                with concurrent.futures.ThreadPoolExecutor(1) as side:
                    # This process loads what the workers leave, and can get ready for that meanwhile.
                    ready = side.submit(warm_up)
                    answers = self._pool().compile(jobs, limit)
                    ready.result()
                failed = {index: self._failure(plans[index], error) for index, error in zip(new, answers) if error is not None}
                errors.update(failed)
                self.compilations += len(failed)
            for index in new:
                if index not in errors:
                    try:
                        self._compile(plans[index])
                    except ProviderError as error:
                        errors[index] = error
            return errors

    def _pool(self):
        return compiler_pool.shared()

    def _job(self, planned) -> dict:
        target = self._target()
        environment = {name: value for name, value in os.environ.items() if name.startswith("TRITON_")}
        return {"path": self.source_path, "variant": planned.variant["name"], "signature": planned.signature, "constants": planned.constants,
                "attributes": planned.attributes, "options": planned.options, "target": (target.backend, target.arch, target.warp_size), "environment": environment}

    @staticmethod
    def _failure(planned, error):
        if isinstance(error, (ProviderError, TargetError)):
            return error
        return ProviderError(f"Triton cannot compile variant {planned.variant['name']!r} with {planned.configuration}", original=error)

    def resources(self, bound, row: int) -> dict:
        if _interpreted():
            return {}
        planned = self.plan(bound, row)
        if not planned.grid:
            return {}
        with self._device_of(planned):
            compiled = self._compiled.get((self._device_number(), planned.key))
        found = {"registers": getattr(compiled, "n_regs", None), "spills": getattr(compiled, "n_spills", None),
                 "shared_memory": getattr(getattr(compiled, "metadata", None), "shared", None)}
        return {name: value for name, value in found.items() if value is not None}

    # -- measuring -----------------------------------------------------------------------------------------------

    def measurable(self) -> bool:
        """Not while a graph is being captured: nothing may wait for the device then."""
        if _interpreted():
            return True
        import torch

        return not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())

    def memory(self, plan, bound):
        return TorchMemory(plan, bound)

    def clock(self, bound):
        return HostClock() if _interpreted() else DeviceClock()

    def measure(self, trial, candidates, each) -> dict:
        values, pointers = _values(trial.bound)
        planned = {candidate.index: self.plan(trial.bound, candidate.index) for candidate in candidates}
        with self._measuring_context(next(iter(planned.values()))):
            clock = self.clock(trial.bound)
            runs = {}
            for index in planned:
                launch = self._specialise(values, pointers, index)
                runs[index] = _nothing if launch is _EMPTY else functools.partial(launch, values, pointers)
            return autotune([(c, planned[c.index].variant["configs"][c.index], runs[c.index]) for c in candidates],
                            lambda candidate, run: each(candidate, lambda best: clock.measure(run, trial.restore, best)))

    def _measuring_context(self, planned):
        return contextlib.nullcontext() if _interpreted() else self._device_of(planned)

    def device(self, bound) -> str:
        if _interpreted():
            return "Triton's interpreter"
        import torch

        number = torch.cuda.current_device() if bound is None else next((v.device.index for v in bound.values if hasattr(v, "data_ptr")), None)
        return torch.cuda.get_device_name(number)

    def version(self) -> str:
        import triton

        return f"triton {triton.__version__}"


def autotune(rows, measure) -> dict:
    """`{index: seconds, or the exception that ruled a row out}`: Triton's Autotuner over `(candidate, triton.Config, run)` rows.

    `measure(candidate, run)` gives seconds. The tuner ends with one launch of its winner, which is on trial arguments like all others.
    """
    from triton.runtime.autotuner import Autotuner

    by_bindings = {_bindings(config.all_kwargs()): (candidate, run) for candidate, config, run in rows}
    refused: dict = {}

    class Rows:
        """The kernel that the Autotuner sees: a row is launched by its bindings."""

        @staticmethod
        def fn():
            pass

        def run(self, **bindings):
            by_bindings[_bindings(bindings)][1]()

    order = iter(rows)

    def do_bench(call, quantiles):
        candidate = next(order)[0]
        try:
            return [measure(candidate, call)] * len(quantiles)
        except Exception as error:
            refused[candidate.index] = error
            raise

    tuner = Autotuner(Rows(), [], [config for _, config, _ in rows], [], None, None, do_bench=do_bench)
    tuner.run()
    timings = {by_bindings[_bindings(config.all_kwargs())][0].index: seconds[0] for config, seconds in tuner.configs_timings.items()}
    # The Autotuner scores what exceeds the machine's resources as infinite.
    return {index: refused.get(index, seconds) if seconds == float("inf") else seconds for index, seconds in timings.items()}


def _nothing() -> None:
    """A launch of no instances."""


def _bindings(values) -> tuple:
    return tuple(sorted(values.items()))
