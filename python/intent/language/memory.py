"""Indexed accesses, kernel-local state, atomics and random numbers."""
from intent.language.intrinsic import Token, intrinsic
from intent.language.types import f32


@intrinsic("gather")
def gather(source, index, valid=True, fill=0):
    """Elements of a view, buffer or tensor at `index` (one or a tuple); lanes not `valid` touch no memory and give `fill`."""


@intrinsic("store")
def store(target, index, value):
    """`target[index] = value` as a call."""


@intrinsic("mutable_load")
def mutable_load(target, index):
    """A read that is ordered with the effects around it."""


@intrinsic("scatter_unique")
def scatter_unique(destination, index, value):
    """Writes to injective destinations; colliding ones are the author's error."""


@intrinsic("scatter_reduce")
def scatter_reduce(destination, index, value, combine):
    """Combines `value` into what the destination holds; collisions combine in any order."""


@intrinsic("buffer")
def buffer(shape, dtype, init=None):
    """Kernel-local mutable state; read it before using its value. Uninitialised reads are the author's error."""


@intrinsic("atomic.load")
def _load(target, index, order="relaxed"):
    """The element at `index` of an InOut view or buffer; relaxed or acquire."""


@intrinsic("atomic.store")
def _store(target, index, value, order="relaxed"):
    """Stores `value`; relaxed or release."""


@intrinsic("atomic.exchange")
def _exchange(target, index, value, order="relaxed"):
    """Stores `value`; gives the old value."""


@intrinsic("atomic.add")
def _add(target, index, value, order="relaxed"):
    """Adds `value`; gives the old value."""


@intrinsic("atomic.max")
def _max(target, index, value, order="relaxed"):
    """Keeps the larger (floats: as `I.maximum_num`); gives the old value."""


@intrinsic("atomic.min")
def _min(target, index, value, order="relaxed"):
    """Keeps the smaller (floats: as `I.minimum_num`); gives the old value."""


@intrinsic("atomic.and_")
def _and(target, index, value, order="relaxed"):
    """Bitwise and; integers; gives the old value."""


@intrinsic("atomic.or_")
def _or(target, index, value, order="relaxed"):
    """Bitwise or; integers; gives the old value."""


@intrinsic("atomic.xor")
def _xor(target, index, value, order="relaxed"):
    """Bitwise exclusive or; integers; gives the old value."""


@intrinsic("atomic.compare_exchange")
def _compare_exchange(target, index, expected, desired, order="relaxed"):
    """Stores `desired` where the element equals `expected`; a record `old_value, success`."""


atomic = Token("atomic", "Atomic accesses, one modification order per address; `order`: relaxed, acquire, release or acq_rel.",
               load=_load, store=_store, exchange=_exchange, add=_add, max=_max,
               min=_min, and_=_and, or_=_or, xor=_xor, compare_exchange=_compare_exchange)


@intrinsic("random.bits")
def _bits(seed, logical_counter):
    """u32 bits of Philox4x32-10, the same on every target: one word for each counter.

    `seed` is an integer scalar, counters are non-negative integers of any dtype, a scalar or tensor; both are taken as u64.
    """


@intrinsic("random.uniform")
def _uniform(seed, logical_counter, dtype=f32):
    """`f32(bits >> 8) * 2**-24` in [0, 1); f32 only."""


random = Token("random", "Counter-based random numbers.", bits=_bits, uniform=_uniform)
