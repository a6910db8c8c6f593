"""Kernels from source text, and what the compiler library says about them."""
import itertools
import linecache

import intent
import intent.language as I
from compilation import LANGUAGE, SUCCESS, TARGET, compile_request
from intent.capture import capture

_numbers = itertools.count()


def define(source, name="k", **names):
    """The object `name` of a module text of its own file; `intent`, `I` and `names` are its globals."""
    path = f"/generated/case{next(_numbers)}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    namespace = {"intent": intent, "I": I, **names}
    exec(compile(source, path, "exec"), namespace)
    return namespace[name]


def collection():
    """A list of kernels, and a decorator that makes a kernel and adds it."""
    kernels = []

    def case(function):
        kernels.append(intent.kernel(function))
        return kernels[-1]

    return kernels, case


def kernel(parameters, body, before="", **names):
    """A kernel `k`; its first body line is line 3 when nothing stands before it."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return define(f"{before}@intent.kernel\ndef k({parameters}):\n{lines}\n", **names)


def kir(kernel, constexprs=None, types=None):
    """The kernel IR text of a kernel that must compile."""
    status, fields = compile_request(emit="kir", target=None, **capture(kernel, constexprs, types))
    assert status == SUCCESS, fields["diagnostics"]
    return fields["kir"]


def diagnostic(kernel, constexprs=None, types=None):
    """The one diagnostic of a kernel that must not compile."""
    status, fields = compile_request(emit="kir", target=None, **capture(kernel, constexprs, types))
    assert status in (LANGUAGE, TARGET), fields["diagnostics"]
    assert len(fields["diagnostics"]) == 1, fields["diagnostics"]
    found = fields["diagnostics"][0]
    assert (found["error"] == "TargetError") == (status == TARGET)
    return found
