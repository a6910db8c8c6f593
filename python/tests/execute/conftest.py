"""These tests run compiled kernels; without the libraries there is nothing to run."""
import numpy as np
import pytest

from intent import native


def pytest_collection_modifyitems(config, items):
    here = str(config.rootpath / "python" / "tests" / "execute")
    missing = [name for name in ("libintent.so", "libintent-host.so") if native.find_library(name) is None]
    if missing:
        for item in items:
            if str(item.path).startswith(here):
                item.add_marker(pytest.mark.skip(reason=f"{', '.join(missing)} not built"))


@pytest.fixture
def rng():
    return np.random.default_rng(20261130)
