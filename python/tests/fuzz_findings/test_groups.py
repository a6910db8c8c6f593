"""Programs over ragged groups that random generation found to go wrong; values worked out in NumPy."""
import numpy as np

import intent
import intent.language as I

OFFSETS = np.array([0, 3, 3, 7], np.int32)


@intent.kernel
def each_member(x: I.In[I.f32, ("L",)], off: I.In[I.i32, ("R",)], y: I.Out[I.f32, ("G",)], z: I.Out[I.i64, ("G",)]):
    groups = I.ragged(I.domain(y.shape[0]), I.domain(x.shape[0]), off)
    for g in I.parallel(groups.outer):
        members = I.members(groups[g])
        total = I.cast(0.0, I.f32)
        for e in members:
            total = total + x[e]
        y[g] = total
        z[g] = I.reduce.sum(I.cast(I.indices(members), I.i64), axis=0)


def test_members_of_a_group_are_its_subregion():
    x = np.arange(1, 8, dtype=np.float32)
    y, z = intent.compile(each_member).run(x, OFFSETS, shapes={"G": 3})
    np.testing.assert_array_equal(y, [6, 0, 22])
    np.testing.assert_array_equal(z, [3, 0, 18])
