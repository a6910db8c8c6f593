"""Hand-written Triton that generated kernels are compared with: each operation, and the configurations to sweep."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def _softmax(X, Y, M, N, BN: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BN)
    mask = (r[:, None] < M) & (c[None, :] < N)
    off = r[:, None].to(tl.int64) * N + c[None, :]
    x = tl.load(X + off, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(Y + off, (e / tl.sum(e, 1)[:, None]).to(tl.float16), mask=mask)


def softmax(x, y):
    M, N = x.shape
    for rows, warps in [(1, 4), (1, 8), (1, 16), (1, 32), (2, 8), (2, 16), (4, 8)]:
        yield (rows, warps), lambda rows=rows, warps=warps: _softmax[(triton.cdiv(M, rows),)](x, y, M, N, triton.next_power_of_2(N), rows, num_warps=warps)


@triton.jit
def _layer_norm(X, W, B, Y, N, eps, BN: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BN)
    k = c < N
    x = tl.load(X + r * N + c, mask=k, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / N
    d = tl.where(k, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / N + eps)
    tl.store(Y + r * N + c, (d * scale * tl.load(W + c, mask=k, other=0.0) + tl.load(B + c, mask=k, other=0.0)).to(tl.float16), mask=k)


def layer_norm(x, w, b, y, eps):
    M, N = x.shape
    for warps in (2, 4, 8, 16):
        yield warps, lambda warps=warps: _layer_norm[(M,)](x, w, b, y, N, eps, triton.next_power_of_2(N), num_warps=warps)


@triton.jit
def _rms_norm(X, R, W, Y, N, eps, BN: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BN)
    k = c < N
    h = tl.load(X + r * N + c, mask=k, other=0.0).to(tl.float32) + tl.load(R + r * N + c, mask=k, other=0.0).to(tl.float32)
    tl.store(R + r * N + c, h.to(tl.float16), mask=k)
    scale = tl.rsqrt(tl.sum(h * h, 0) / N + eps)
    tl.store(Y + r * N + c, (h * scale * tl.load(W + c, mask=k, other=0.0)).to(tl.float16), mask=k)


def rms_norm(x, residual, w, y, eps):
    M, N = x.shape
    for warps in (2, 4, 8, 16):
        yield warps, lambda warps=warps: _rms_norm[(M,)](x, residual, w, y, N, eps, triton.next_power_of_2(N), num_warps=warps)


@triton.jit
def _relu(X, Y, N, B: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)
    x = tl.load(X + i, mask=i < N, other=0.0)
    tl.store(Y + i, tl.where(x > 0, x, 0.0), mask=i < N)


def relu(x, y):
    n = x.numel()
    for block, warps in [(1024, 4), (2048, 4), (2048, 8), (4096, 4), (4096, 8), (8192, 8)]:
        yield (block, warps), lambda block=block, warps=warps: _relu[(triton.cdiv(n, block),)](x, y, n, block, num_warps=warps)


@triton.jit
def _row_sum(X, Y, M, N, BN: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, BN)
    x = tl.load(X + r[:, None].to(tl.int64) * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N), other=0.0)
    tl.store(Y + r, tl.sum(x.to(tl.float32), 1), mask=r < M)


def row_sum(x, y):
    M, N = x.shape
    for rows, warps in [(1, 4), (1, 8), (2, 4), (2, 8), (4, 8), (4, 16)]:
        yield (rows, warps), lambda rows=rows, warps=warps: _row_sum[(triton.cdiv(M, rows),)](x, y, M, N, triton.next_power_of_2(N), rows, num_warps=warps)


@triton.jit
def _transpose(X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(X + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N))
    tl.store(Y + n[:, None] * M + m[None, :], x.T, mask=(m[None, :] < M) & (n[:, None] < N))


def transpose(x, y):
    M, N = x.shape
    for bm, bn, warps in [(64, 64, 4), (64, 64, 8), (128, 64, 8), (64, 128, 8), (128, 128, 8), (32, 64, 4)]:
        yield (bm, bn, warps), lambda bm=bm, bn=bn, warps=warps: _transpose[(triton.cdiv(M, bm), triton.cdiv(N, bn))](x, y, M, N, bm, bn, num_warps=warps)


@triton.jit
def _tile(t, tiles_m, tiles_n, G: tl.constexpr):
    per = G * tiles_n
    first = t // per * G
    size = min(tiles_m - first, G)
    return first + (t % per) % size, (t % per) // size


@triton.jit
def _gelu(v):
    return 0.5 * v * (1 + 2 * tl.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v)) - 1)


@triton.jit
def _matmul_pointers(A, B, bias, C, M, N, K, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    pm, pn = _tile(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), G)
    m, n, k = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    a, b = A + m[:, None] * K + k[None, :], B + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        acc = tl.dot(tl.load(a, mask=k[None, :] < K - k0, other=0.0), tl.load(b, mask=k[:, None] < K - k0, other=0.0), acc)
        a += BK
        b += BK * N
    if GELU:
        acc = _gelu(acc + tl.load(bias + n).to(tl.float32)[None, :])
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def _matmul_persistent(A, B, bias, C, M, N, K, GELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr, NP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tiles_m * tiles_n, NP):
        pm, pn = _tile(t, tiles_m, tiles_n, G)
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(A.load([pm * BM, k * BK]), B.load([k * BK, pn * BN]), acc)
        if GELU:
            acc = _gelu(acc + tl.load(bias + pn * BN + tl.arange(0, BN)).to(tl.float32)[None, :])
        C.store([pm * BM, pn * BN], acc.to(tl.float16))


def matmul(a, b, y, bias=None):
    """Extents that are multiples of the tiles."""
    (M, K), N = a.shape, b.shape[1]
    processors = torch.cuda.get_device_properties(a.device).multi_processor_count
    for bm, bn, bk, warps, stages in [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4)]:
        yield ("pointers", bm, bn, bk, warps, stages), lambda bm=bm, bn=bn, bk=bk, warps=warps, stages=stages: _matmul_pointers[(triton.cdiv(M, bm) * triton.cdiv(N, bn),)](
            a, b, bias if bias is not None else a, y, M, N, K, bias is not None, bm, bn, bk, 8, num_warps=warps, num_stages=stages)
        A, B, C = TensorDescriptor(a, [M, K], [K, 1], [bm, bk]), TensorDescriptor(b, [K, N], [N, 1], [bk, bn]), TensorDescriptor(y, [M, N], [N, 1], [bm, bn])
        yield ("persistent", bm, bn, bk, warps, stages), lambda A=A, B=B, C=C, bm=bm, bn=bn, bk=bk, warps=warps, stages=stages: _matmul_persistent[(processors,)](
            A, B, bias if bias is not None else a, C, M, N, K, bias is not None, bm, bn, bk, 8, processors, num_warps=warps, num_stages=stages)
