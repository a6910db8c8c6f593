"""Kernels as an author writes them who has only the language's pages at hand: attention variants, sorts, transforms, solvers, dynamic
programs, ragged rows."""
import intent
import intent.language as I


@intent.fn
def attend(q, k, v, at, i, scale, cap, slope, win):
    s = I.vecmat(q, k, acc_dtype=I.f32, transpose=True) * scale
    s = cap * I.tanh(s / cap)
    s = s - slope * I.cast(i - at, I.f32)
    s = I.select((at <= i) & (at > i - win), s, -I.inf)
    m = I.reduce.max(s, axis=0)
    mf = I.select(m > -I.inf, m, 0.0)
    p = I.exp(s - mf)
    return I.record(m=m, l=I.reduce.sum(p, axis=0), o=I.vecmat(p, v, acc_dtype=I.f32))


@intent.fn
def attend_slice(k, v, at, q, i, scale, cap, slope, win):
    return attend(q, k, v, at, i, scale=scale, cap=cap, slope=slope, win=win)


@intent.fn
def attend_both(a, b):
    m = I.maximum(a.m, b.m)
    mf = I.select(m > -I.inf, m, 0.0)
    ea = I.exp(a.m - mf)
    eb = I.exp(b.m - mf)
    return I.record(m=m, l=a.l * ea + b.l * eb, o=a.o * ea + b.o * eb)


@intent.kernel
def grouped_window_attention(q: I.In[I.f32, ("HQ", "S", "D")], k: I.In[I.f32, ("HK", "S", "D")], v: I.In[I.f32, ("HK", "S", "E")], slopes: I.In[I.f32, ("HQ",)],
                             o: I.Out[I.f32, ("HQ", "S", "E")], lse: I.Out[I.f32, ("HQ", "S")], scale: I.f32, cap: I.f32, win: I.i32):
    HQ, S, D = q.shape
    HK, _, E = v.shape
    rep = HQ // HK
    pos = I.domain(S)
    for h, i in I.parallel((I.domain(HQ), pos)):
        g = h // rep
        st = I.region_fold(source=(k[g, pos, :], v[g, pos, :], I.indices(pos)), axis=0, summarize=attend_slice, combine=attend_both,
                           identity=I.record(m=I.cast(-I.inf, I.f32), l=I.cast(0.0, I.f32), o=I.zeros((E,), I.f32)),
                           operands=(q[h, i, :], i, scale, cap, slopes[h], I.cast(win, I.index)))
        o[h, i, :] = st.o / st.l
        lse[h, i] = st.m + I.log(st.l)


@intent.kernel
def grouped_gather_gemm(x: I.In[I.f32, ("T", "K")], w: I.In[I.f32, ("G", "K", "N")], off: I.In[I.i32, ("G1",)], perm: I.In[I.i32, ("L",)], gate: I.In[I.f32, ("L",)], y: I.InOut[I.f32, ("T", "N")]):
    T, K = x.shape
    G, _, NN = w.shape
    r = I.ragged(I.domain(G), I.domain(T), off, indices=perm)
    for g in I.parallel(I.domain(G)):
        rows = I.members(r[g])
        seg = I.domain(perm.shape[0])[I.cast(off[g], I.index):I.cast(off[g + 1], I.index)]
        v = I.matmul(x[rows, :], w[g, :, :], acc_dtype=I.f32) * gate[seg][:, None]
        I.scatter_reduce(y, index=(rows, I.domain(NN)), value=v, combine=I.add)


@intent.kernel
def bitonic(x: I.In[I.f32, ("B", 32)], y: I.Out[I.f32, ("B", 32)]):
    B = x.shape[0]
    i = I.indices(I.domain(32))
    for b in I.parallel(I.domain(B)):
        v = x[b, :]
        k = I.cast(2, I.index)
        while k <= 32:
            j = k // 2
            while j > 0:
                other = I.gather(v, index=i ^ j)
                up = (i & k) == 0
                low = (i & j) == 0
                v = I.select(up == low, I.minimum(v, other), I.maximum(v, other))
                j = j // 2
            k = k * 2
        y[b, :] = v


@intent.kernel
def odd_even_sort(x: I.InOut[I.i32, ("B", "N")]):
    B, NN = x.shape
    for b in I.parallel(I.domain(B)):
        for p in range(NN):
            for j in I.parallel(I.domain(p % 2, NN - 1, 2)):
                a = x[b, j]
                c = x[b, j + 1]
                if a > c:
                    x[b, j] = c
                    x[b, j + 1] = a


@intent.kernel
def fft_radix2(re: I.In[I.f32, ("B", "N")], im: I.In[I.f32, ("B", "N")], yr: I.Out[I.f32, ("B", "N")], yi: I.Out[I.f32, ("B", "N")], LOG: I.Constexpr[int]):
    B, NN = re.shape
    j = I.indices(I.domain(NN))
    for b in I.parallel(I.domain(B)):
        rev = j * 0
        t = j
        for s in range(LOG):
            rev = rev * 2 + (t & 1)
            t = t >> 1
        r = re[b, rev]
        m = im[b, rev]
        h = I.cast(1, I.index)
        for s in range(LOG):
            lo = (j & h) == 0
            ang = -I.pi * I.cast(j & (h - 1), I.f32) / I.cast(h, I.f32)
            c, sn = I.cos(ang), I.sin(ang)
            pr = I.gather(r, index=j ^ h)
            pm = I.gather(m, index=j ^ h)
            br, bm = I.select(lo, pr, r), I.select(lo, pm, m)
            ar, am = I.select(lo, r, pr), I.select(lo, m, pm)
            tr, tm = br * c - bm * sn, br * sn + bm * c
            r = I.select(lo, ar + tr, ar - tr)
            m = I.select(lo, am + tm, am - tm)
            h = h * 2
        yr[b, :] = r
        yi[b, :] = m


@intent.kernel
def radix_pass(keys: I.In[I.u32, ("N",)], out: I.Out[I.u32, ("N",)], hist: I.Out[I.u32, (16,)], shift: I.u32):
    d = (keys[:] >> shift) & 15
    h = I.histogram(d, bins=16)
    hist[:] = h
    base = I.cumsum(h, axis=0, inclusive=False)
    onehot = I.cast(d[:, None] == I.cast(I.indices(I.domain(16)), I.u32)[None, :], I.u32)
    rank = I.cumsum(onehot, axis=0, inclusive=False)
    pos = I.reduce.sum(onehot * (rank + base[None, :]), axis=1)
    I.scatter_unique(out, index=(pos,), value=keys[:])


@intent.kernel
def floyd_point(d: I.InOut[I.i32, ("N", "N")]):
    NN = d.shape[0]
    for k in I.domain(NN):
        for i, j in I.parallel((I.domain(NN), I.domain(NN))):
            via = d[i, k] + d[k, j]
            if via < d[i, j] and i != k and j != k:
                d[i, j] = via


@intent.kernel
def lu(a: I.InOut[I.f64, ("N", "N")]):
    NN = a.shape[0]
    for k in range(NN):
        below = I.domain(k + 1, NN)
        a[below, k] = a[below, k] / a[k, k]
        a[below, below] -= I.outer(a[below, k], a[k, below])


@intent.kernel
def cholesky(a: I.In[I.f32, ("B", "N", "N")], l: I.Out[I.f32, ("B", "N", "N")]):
    B, NN, _ = a.shape
    for b in I.parallel(I.domain(B)):
        w = I.buffer((NN, NN), I.f32, init=I.zeros((NN, NN), I.f32))
        for j in range(NN):
            prior = I.domain(NN)[0:j]
            s = a[b, j, j] - I.reduce.sum(w[j, prior] * w[j, prior], axis=0)
            dj = I.sqrt(s)
            w[j, j] = dj
            for i in range(j + 1, NN):
                w[i, j] = (a[b, i, j] - I.dot(w[i, prior], w[j, prior], acc_dtype=I.f32)[()]) / dj
        l[b, :, :] = w[:, :]


@intent.kernel
def viterbi(em: I.In[I.f32, ("T", "S")], tr: I.In[I.f32, ("S", "S")], path: I.Out[I.i32, ("T",)], score: I.Out[I.f32, (1,)]):
    T, S = em.shape
    back = I.buffer((T, S), I.i32)
    v = em[0, :]
    for t in range(1, T):
        best, at = I.arg_reduce.max(v[:, None] + tr[:, :], axis=0)
        back[t, :] = I.cast(at, I.i32)
        v = best + em[t, :]
    s, last = I.arg_reduce.max(v, axis=0)
    score[0] = s
    path[T - 1] = I.cast(last, I.i32)
    cur = I.cast(last, I.i32)
    for k in range(1, T):
        t = T - k
        cur = back[t, cur]
        path[t - 1] = cur


@intent.kernel
def smith_waterman(a: I.In[I.u8, ("P", "A")], b: I.In[I.u8, ("P", "B")], best: I.Out[I.i32, ("P",)], gap: I.i32):
    P, A = a.shape
    B = b.shape[1]
    for p in I.parallel(I.domain(P)):
        h = I.buffer((A + 1, B + 1), I.i32, init=I.zeros((A + 1, B + 1), I.i32))
        top = I.cast(0, I.i32)
        for d in range(2, A + B + 1):
            lo = I.maximum(d - B, 1)
            hi = I.minimum(d - 1, A)
            for i in range(lo, hi + 1):
                j = d - i
                s = I.cast(3 if a[p, i - 1] == b[p, j - 1] else -2, I.i32)
                v = I.maximum(I.maximum(h[i - 1, j - 1] + s, 0), I.maximum(h[i - 1, j], h[i, j - 1]) - gap)
                h[i, j] = v
                top = I.maximum(top, v)
        best[p] = top


@intent.kernel
def reverse_swap_loop(x: I.InOut[I.f32, ("N",)]):
    NN = x.shape[0]
    for i in I.parallel(I.domain(NN // 2)):
        a = x[i]
        b = x[NN - 1 - i]
        x[i] = b
        x[NN - 1 - i] = a


@intent.kernel
def haar(x: I.InOut[I.f32, ("B", "N")]):
    B, NN = x.shape
    for b in I.parallel(I.domain(B)):
        n = NN
        while n > 1:
            h = n // 2
            v = x[b, :]
            at = I.indices(I.domain(NN))
            lo = I.gather(v, index=2 * at, valid=at < h, fill=0.0)
            hi = I.gather(v, index=2 * at + 1, valid=at < h, fill=0.0)
            s = (lo + hi) * 0.5
            d = (lo - hi) * 0.5
            ds = I.gather(d, index=at - h, valid=(at >= h) & (at < n), fill=0.0)
            x[b, :] = I.select(at < h, s, I.select(at < n, ds, v))
            n = h


@intent.kernel
def while_literal(x: I.In[I.i32, ("N",)], y: I.Out[I.i32, ("N",)]):
    n = x.shape[0]
    i = 0
    total = I.cast(0, I.i32)
    while i < n:
        total += x[i]
        y[i] = total
        i += 1


@intent.kernel
def merge_sorted(a: I.In[I.i32, ("NA",)], b: I.In[I.i32, ("NB",)], n: I.In[I.i32, ("P",)], y: I.InOut[I.i32, ("P", "T")]):
    NA, NB = a.shape[0], b.shape[0]
    for p in I.parallel(I.domain(n.shape[0])):
        i, j = I.cast(0, I.index), I.cast(0, I.index)
        for k in range(n[p]):
            left = i < NA and (j >= NB or a[i] <= b[j])
            y[p, k] = a[i] if left else b[j]
            if left:
                i += 1
            else:
                j += 1


@intent.kernel
def huffman_sums(x: I.In[I.i64, ("B", "S")], y: I.Out[I.i64, ("B", "T")]):
    """Leaves in order, then the sums of the two lightest nodes left, from two queues."""
    B, S = x.shape
    for b in I.parallel(I.domain(B)):
        w = I.buffer((2 * S,), I.i64, init=I.zeros((2 * S,), I.i64))
        w[I.domain(S)] = x[b, :]
        leaf, node = I.cast(0, I.index), I.cast(S, I.index)
        for k in range(S, 2 * S - 1):
            for side in range(2):
                pick = leaf
                if leaf < S and (node >= k or w[leaf] <= w[node]):
                    leaf += 1
                else:
                    pick = node
                    node += 1
                w[k] = w[k] + w[pick]
        y[b, :] = w[I.indices(I.domain(y.shape[1]))]


@intent.kernel
def insertion_sort(x: I.InOut[I.f32, ("B", "N")]):
    B, NN = x.shape
    for b in I.parallel(I.domain(B)):
        for i in range(1, NN):
            v = x[b, i]
            j = i - 1
            while j >= 0 and x[b, j] > v:
                x[b, j + 1] = x[b, j]
                j -= 1
            x[b, j + 1] = v


@intent.kernel
def guarded_and(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    n = x.shape[0]
    for i in I.parallel(I.domain(n)):
        if i > 0 and x[i - 1] > 0.0:
            y[i] = x[i - 1]
        elif i + 1 >= n or x[i + 1] < 0.0:
            y[i] = -1.0
        else:
            y[i] = 0.0


@intent.kernel
def blocks_buffer(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("B",)], z: I.Out[I.f32, ("H",)]):
    NN = x.shape[0]
    nb = (NN + 7) // 8
    for b in I.parallel(I.domain(nb)):
        t = I.buffer((8,), I.f32, init=I.zeros((8,), I.f32))
        at = b * 8 + I.indices(I.domain(8))
        t[:] = I.gather(x, index=at, valid=at < NN, fill=0.0)
        y[b] = I.reduce.sum(t[:], axis=0)
    h = I.buffer((NN // 2,), I.f32)
    for i in I.parallel(I.domain(NN // 2)):
        h[i] = x[2 * i] + x[2 * i + 1]
    z[:] = h[I.domain(z.shape[0])]


@intent.kernel
def scalar_blocks(x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)], n: I.i32, w: I.i64):
    h = I.cast(n, I.index) // 3
    m = I.minimum(h, I.cast(w, I.index))
    for i in I.parallel(I.domain(m)):
        y[i] = x[i] * 2.0
    for i in I.parallel(I.domain(m, I.maximum(m, I.cast(w, I.index) % 5))):
        y[i] = -1.0


@intent.kernel
def qr_mgs(a: I.InOut[I.f64, ("M", "N")], r: I.Out[I.f64, ("N", "N")]):
    M, NN = a.shape
    r[:, :] = 0.0
    for k in range(NN):
        nrm = I.sqrt(I.reduce.sum(a[:, k] * a[:, k], axis=0))
        r[k, k] = nrm
        a[:, k] = a[:, k] / nrm
        rest = I.domain(k + 1, NN)
        p = I.vecmat(a[:, k], a[:, rest], acc_dtype=I.f64)
        r[k, rest] = p
        a[:, rest] -= I.outer(a[:, k], p)


@intent.kernel
def cg(a: I.In[I.f32, ("N", "N")], b: I.In[I.f32, ("N",)], x: I.Out[I.f32, ("N",)], it: I.Out[I.i32, (1,)], tol: I.f32):
    n = b.shape[0]
    sol = I.zeros((n,), I.f32)
    r = b[:]
    p = r
    rs = I.dot(r, r, acc_dtype=I.f32)[()]
    k = I.cast(0, I.i32)
    while k < 100 and rs > tol:
        ap = I.matvec(a[:, :], p, acc_dtype=I.f32)
        al = rs / I.reduce.sum(p * ap, axis=0)
        sol = sol + al * p
        r = r - al * ap
        new = I.reduce.sum(r * r, axis=0)
        p = r + (new / rs) * p
        rs = new
        k += 1
    x[:] = sol
    it[0] = I.cast(k > 0, I.i32)


@intent.kernel
def ctc_alpha(lp: I.In[I.f32, ("T", "V")], lab: I.In[I.i32, ("S",)], out: I.Out[I.f32, (1,)]):
    T, V = lp.shape
    S = lab.shape[0]
    s = I.indices(I.domain(S))
    a = I.select(s <= 1, I.gather(lp, index=(0, lab[:])), -I.inf)
    l2 = I.gather(lab, index=s - 2, valid=s >= 2, fill=-1)
    skip = (s >= 2) & (lab[:] != l2) & (lab[:] != 0)
    for t in range(1, T):
        a1 = I.gather(a, index=s - 1, valid=s >= 1, fill=-I.inf)
        a2 = I.select(skip, I.gather(a, index=s - 2, valid=s >= 2, fill=-I.inf), -I.inf)
        m = I.maximum(I.maximum(a, a1), a2)
        mf = I.select(m > -I.inf, m, 0.0)
        a = I.log(I.exp(a - mf) + I.exp(a1 - mf) + I.exp(a2 - mf)) + mf + I.gather(lp, index=(t, lab[:]))
    m = I.maximum(a[S - 1], a[S - 2])
    out[0] = m + I.log(I.exp(a[S - 1] - m) + I.exp(a[S - 2] - m))


@intent.kernel
def ragged_softmax(x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("B1",)], y: I.Out[I.f32, ("L",)], c: I.Out[I.f32, ("L",)]):
    r = I.ragged(I.domain(off.shape[0] - 1), I.domain(x.shape[0]), off)
    for g in I.parallel(r.outer):
        v = x[r[g]]
        e = I.exp(v - I.reduce.max(v, axis=0))
        y[r[g]] = e / I.reduce.sum(e, axis=0)
        c[r[g]] = I.cumsum(v, axis=0)


@intent.kernel
def ragged_cum_norm(x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("B1",)], y: I.Out[I.f32, ("L",)]):
    rows = I.domain(x.shape[0])
    for g in I.parallel(I.domain(off.shape[0] - 1)):
        b, e = I.cast(off[g], I.index), I.cast(off[g + 1], I.index)
        seg = rows[b:e]
        c = I.cumsum(x[seg], axis=0)
        if e > b:
            y[seg] = c / c[e - b - 1]


@intent.kernel
def passes_meet(x: I.In[I.f32, ("T", "N")], y: I.Out[I.f32, ("N",)]):
    T, NN = x.shape
    for t in range(T):
        for i in I.parallel(I.domain(NN)):
            y[(i + t) % NN] = x[t, i]


@intent.kernel
def passes_meet_tensor(x: I.In[I.f32, ("T", "N")], y: I.InOut[I.f32, ("N",)], p: I.In[I.i32, ("T", "N")]):
    T, NN = x.shape
    for t in range(T):
        y[p[t, :]] = x[t, :]


@intent.kernel
def fmods(a: I.In[I.f32, ("N",)], b: I.In[I.f32, ("N",)], q: I.Out[I.f32, ("N",)], r: I.Out[I.f32, ("N",)]):
    q[:] = a[:] // b[:]
    r[:] = a[:] % b[:]


@intent.kernel
def scanned_product(x: I.In[I.f32, ("M", 6)], w: I.In[I.f32, (6, "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = I.matmul(I.cumsum(x[:, :], axis=1), w[:, :], acc_dtype=I.f32)
