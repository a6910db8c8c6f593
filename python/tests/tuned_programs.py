"""Kernels that tuning tests run, and what their interfaces offer."""
import intent
import intent.language as I


@intent.kernel
def accumulate(x: I.In[I.f32, ("M", "N")], acc: I.InOut[I.f32, ("M", "N")]):
    acc[:, :] = acc[:, :] + x[:, :]


@intent.kernel
def scale(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * 2.0


@intent.kernel
def count(x: I.In[I.i32, ("N",)], total: I.InOut[I.i32, ("B",)]):
    axis = I.domain(x.shape[0])
    I.atomic.add(total, (I.indices(axis) % 4,), x[axis])


@intent.kernel
def row_softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    row = x[:, :]
    e = I.exp(row - I.reduce.max(row, axis=1)[:, None])
    y[:, :] = e / I.reduce.sum(e, axis=1)[:, None]


@intent.kernel
def sum_all(x: I.In[I.f32, ("N",)], y: I.Out[I.f32, ()]):
    y[()] = I.reduce.sum(x[:], axis=0)


@intent.kernel
def product(a: I.In[I.f32, ("M", "K")], b: I.In[I.f32, ("K", "N")], c: I.Out[I.f32, ("M", "N")]):
    c[:, :] = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32)
