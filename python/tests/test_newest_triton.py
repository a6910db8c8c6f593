"""The newest Triton, beside the one that other tests use: generated modules compile with it, with no GPU."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import intent
import test_triton_kernels
from compilation import REPOSITORY

FOLDER = REPOSITORY / ".venv" / "newest-triton"
VERSION = (REPOSITORY / "requirements-newest-triton.txt").read_text().strip().removeprefix("triton==")
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "gfx942", "gfx1201")


@pytest.mark.skipif(not (FOLDER / "triton").is_dir(), reason="scripts/setup.sh --tests installs it, where Python is 3.11 or newer")
def test_every_kernel_compiles(tmp_path):
    jobs = []
    for name, kernel, arguments, _, _ in test_triton_kernels.cases(np.random.default_rng(0)):
        values = [list(a.shape) if isinstance(a, np.ndarray) else a for a in arguments]
        for arch in ARCHITECTURES:
            program = intent.generate(kernel, f"triton:{arch}")
            variant = program.metadata["variants"][0]["name"]
            rows = sum(c["variant"] == variant for c in program.metadata["candidates"])
            # The first row everywhere, the last one too on the architecture that tables are made for.
            for row in sorted({0, rows - 1} if arch == "sm_90" else {0}):
                jobs.append({"name": name, "source": str(program.source_path), "arch": arch, "values": values, "row": row})
    listed = tmp_path / "jobs.json"
    listed.write_text(json.dumps(jobs))
    environment = {**os.environ, "PYTHONPATH": str(Path(intent.__file__).parents[1]), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    script = Path(__file__).with_name("triton_offline.py")
    done = subprocess.run([sys.executable, str(script), str(FOLDER), str(listed)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == f"{len(jobs)} of {len(jobs)} compiled with {VERSION}"
