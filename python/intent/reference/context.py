"""The interpreter that runs in this thread or task."""
import numpy as np

from intent.language.intrinsic import ACTIVE


def current():
    return ACTIVE.get()


def note_rounding(format, exact=None, result=None):
    """Tells a fold that watches that a result was rounded to a float format; with both arrays, only if it was inexact."""
    interpreter = ACTIVE.get()
    if interpreter is not None and format.precision < interpreter.narrowest:
        if exact is None or ((result != exact) & ~np.isnan(result)).any():
            interpreter.narrowest = format.precision
