"""Updates in place that swap elements, against what torch or NumPy do: `python bench/in_place_kernels.py [host|triton]`.

Prints medians in ms, the ratio, and a copy of as many bytes for comparison; each result is compared with the other library's.
"""
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests"), str(ROOT / "bench")]
import intent  # noqa: E402
import test_swaps as swaps  # noqa: E402
from structured_kernels import interleaved  # noqa: E402


def problems(device):
    """(name, kernel, arguments before the view, its extents, what the other library writes to it)."""
    gpu = device == "triton"
    flip = (lambda x, axis: x.flip(axis)) if gpu else (lambda x, axis: np.flip(x, axis).copy())
    for n in ((1 << 28, (1 << 28) + 7) if gpu else (1 << 22, (1 << 22) + 7)):
        yield f"reverse {n}", swaps.reverse, (), (n,), lambda x: flip(x, 0)
    for n in (16384, 16381) if gpu else (2048, 2047):
        yield f"transpose {n}", swaps.transpose, (), (n, n), lambda x: x.T.clone() if gpu else x.T.copy()
    m, n = (65536, 4097) if gpu else (2048, 4097)
    yield f"reverse rows {m} x {n}", swaps.reverse_rows, (1,), (m, n), lambda x: flip(x, 1)
    m, n = (1 << 20, 128) if gpu else (1 << 14, 128)
    angles = np.array([0.6, 0.8], np.float32)
    c, s = (angles[(np.arange(m) + k) % 2, None] for k in range(2))
    if gpu:
        import torch

        angles, c, s = (torch.from_numpy(a).cuda() for a in (angles, c, s))
    yield f"rotate halves {m} x {n}", swaps.rotate_halves, (angles,), (m, n), lambda x: rotated(c, s, x)


def rotated(c, s, x):
    u, v = x[:, :x.shape[1] // 2], x[:, x.shape[1] // 2:]
    if isinstance(x, np.ndarray):
        return np.concatenate([u * c - v * s, u * s + v * c], 1)
    import torch

    return torch.cat([u * c - v * s, u * s + v * c], 1)


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "host"
    for name, kernel, scalars, extents, moved in problems(device):
        if device == "triton":
            import torch

            x, wait = torch.randn(extents, device="cuda"), torch.cuda.synchronize
            copy, clone, equal = (lambda a, b: a.copy_(b)), torch.clone, lambda a, b: torch.allclose(a, b, rtol=0, atol=1e-6)
        else:
            x, wait = np.random.default_rng(0).standard_normal(extents, dtype=np.float32), lambda: None
            copy, clone, equal = np.copyto, np.copy, lambda a, b: np.allclose(a, b, rtol=0, atol=1e-6)
        compiled = intent.compile(kernel, device)
        y = clone(x)
        compiled(*scalars, y)
        right = equal(y, moved(x))
        prepared = compiled.prepare(*scalars, y)
        own, theirs, plain = interleaved([prepared.launch, lambda: copy(x, moved(x)), lambda: copy(y, x)], wait, 15)
        print(f"{name:28} {own:8.3f} ms, {'torch' if device == 'triton' else 'numpy'} {theirs:8.3f} ms, {theirs / own:5.2f}x, copy {plain:8.3f} ms, "
              f"{'right' if right else 'WRONG'}", flush=True)


if __name__ == "__main__":
    main()
