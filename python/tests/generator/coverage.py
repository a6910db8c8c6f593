"""Which constructs of the language programs use: a table of shares, rarest last."""
from __future__ import annotations

import re
from collections import Counter

from .statements import source

# Constructs that have no name of their own.
FORMS = {
    "for over a domain": r"^ +for \w+ in I\.domain", "for over range": r"for \w+ in range", "for over a region": r"for \w+ in \w+:", "while": r"^ +while ", "while on more than a counter": r"while .* and ",
    "break": r"^ +break$", "continue": r"^ +continue$", "return early": r"^ +return$", "if": r"^ +if ", "elif": r"^ +elif ", "constexpr": r"I\.Constexpr", "Enum": r"\(I\.Enum\)",
    "type variable": r"I\.TypeVar", "helper": r"\bh\d+\(", "helper by keywords": r"\bh\d+\(b=|\bh\d+\(a=", "helper of two results": r"\bh\d+\(.*\)\[\d\]|, v\d+ = h\d", "augmented write": r"\] [+-]= ",
    "ternary": r" if .* else ", "and, or, not": r" and | or |\(not ", "chained comparison": r"<= .* < ", "step of a domain": r"I\.domain\([^()]*, [^()]*, \d\)", "subregion": r"\)\[[^\]]*:",
    "two carries": r"(c\d+), (c\d+) = \2, ", "strided or permuted argument": r"# .*layout", "shared memory": r"# .*alias", "f8": r"I\.f8", "u64": r"I\.u64",
}


def used(program, source=source):
    """Names `I.x` and forms in a program's text."""
    unusual = "".join(f" layout {v.layout}" for v in program.views if v.layout != "plain") + (" alias" if program.alias else "")
    text = f"{source(program)}#{unusual}\n"
    return set(re.findall(r"\bI\.[a-z][\w.]*", text)) | {name for name, pattern in FORMS.items() if re.search(pattern, text, re.M)}


def table(programs, source=source):
    """One line a construct: how many of the programs use it. Public names that none uses come last."""
    import intent.language as I

    counts, total = Counter(), 0
    for program in programs:
        counts.update(used(program, source))
        total += 1
    names = set(counts) | set(FORMS)
    for name in dir(I):
        value = getattr(I, name)
        if not name.startswith("_") and not hasattr(value, "__path__") and not any(n == f"I.{name}" or n.startswith(f"I.{name}.") for n in names) and name[0].islower():
            if type(value).__name__ != "module":
                names.add("I." + name)
    return "\n".join(f"{100 * counts[name] / max(total, 1):5.1f} %  {name}" for name in sorted(names, key=lambda n: (-counts[n], n)))
