"""Running one program of ordered effects: in the reference, which also judges whether it is legal, on the host in several ways, as Triton text."""
from __future__ import annotations

import traceback

from .execution import Outcome, Runs, _Found, load
from .ordered import source

# One instance may do so much alone, so that fewer programs have fences between their parts.
SERIAL = "host{serial_elements=100000, warp_size=32}"
# A checked run visits every element several times.
MOST_CHECKED = 20


def run(program, folder) -> Outcome:
    try:
        module = load(source(program), folder)
    except Exception:
        return Outcome("failed", "no Python module", traceback.format_exc())
    try:
        OrderedRuns(program, module, [None] * len(program.sizes)).all()
    except _Found as found:
        return found.outcome
    return Outcome("passed")


class OrderedRuns(Runs):
    """The runs of a program whose values are exact."""

    unbuilt = ()  # the host builds every legal program
    limits_of = {"gpu forms": ("shared_gpu",), "triton": ("provider_surface", "hardware_capability")}

    def all(self):
        import intent

        every = range(len(self.program.sizes))
        self.judged()
        compiled = self._guard("host", lambda: intent.compile(self.kernel))
        self._guard("host", lambda: self.compare(compiled, "", every))
        self._guard("serial", lambda: self.admitted(SERIAL, " in one instance", every))
        small = [n for n in every if sum(self.program.sizes[n].values()) <= MOST_CHECKED]
        checked = self._guard("checked", lambda: intent.compile(self.kernel, options=intent.CompileOptions(check=True)))
        self._guard("checked", lambda: self.compare(checked, " in a checked run", small))
        self.elsewhere()
        self._guard("triton", self.triton)

    def judged(self):
        """What the reference rejects is no program, an internal error apart."""
        import intent

        try:
            self.interpret()
        except intent.InternalError as error:
            raise _Found("failed", "reference InternalError", str(error)) from None
        except intent.IntentError as error:
            raise _Found("skipped", f"the reference rejects it: {error.message[:100]}", str(error)) from None
        except Exception:
            raise _Found("failed", "reference exception", traceback.format_exc()) from None
