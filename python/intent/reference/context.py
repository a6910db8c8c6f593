"""The interpreter that runs in this thread or task."""
from intent.language.intrinsic import ACTIVE


def current():
    return ACTIVE.get()
