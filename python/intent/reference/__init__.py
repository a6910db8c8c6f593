"""The independent reference of the language (`intent.interpret`): the author's function run eagerly on NumPy, in plain Python.

It implements the numerics page on its own: nothing here calls the compiler or shares its semantics. `print`, pdb and breakpoints
work inside a kernel. What the language calls an author's error (accesses out of bounds, reads of unwritten memory, colliding
unique scatters, racing parallel iterations, broken fold laws) is reported at the author's line.
"""
from .interpret import Interpreted, interpret

__all__ = ["Interpreted", "interpret"]
