"""Trial state: private memory in the place of what a call's arguments may change, so that no trial touches the caller's.

Views whose bytes meet belong together: they are copied as one block, at the same distances and the same address modulo
`ALIGNMENT`, so that offsets, strides, alignment and aliases are those of the call. The caller's memory keeps the initial
contents meanwhile; restoring is copying from there again.
"""
from __future__ import annotations

from dataclasses import dataclass

from ..runtime.binding import Bound

# A page, and a multiple of every alignment that a provider's compiler specialises for.
ALIGNMENT = 4096


class TrialMemoryError(Exception):
    """The copies do not fit into memory; `str()` says how much was needed."""


@dataclass
class Block:
    """Private memory in the place of `size` bytes of the caller's at `source`. `contents` says whether trials need what is there."""

    source: int
    size: int
    contents: bool
    views: list
    address: int = 0
    memory: object = None
    pieces: list = ()


def blocks_of(plan, bound: Bound) -> list:
    """The blocks that trials of a call need, with nothing allocated: one for each set of views that meet and that the kernel writes into.

    Contents matter unless every view of the set is an `Out`, which is undefined until the kernel writes it: then whatever a
    trial leaves there changes no later one.
    """
    placed = []
    for number, ((low, high), pointer) in enumerate(zip(bound.layout.spans, bound.pointers)):
        if low < high:
            placed.append((pointer + low, pointer + high, number))
    placed.sort()
    groups: list = []
    for low, high, number in placed:
        if groups and low < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], high)
            groups[-1][2].append(number)
        else:
            groups.append([low, high, [number]])
    blocks = []
    for low, high, numbers in groups:
        accesses = {plan.views[number][1].access for number in numbers}
        if accesses != {"in"}:
            blocks.append(Block(low, high - low, accesses != {"out"}, numbers))
    return blocks


class TrialState:
    """The trial arguments of one call: `bound` stands for the call in every trial, `restore()` gives it its initial contents.

    `memory` allocates and copies on the device of the call (`HostMemory`, or a provider's). TrialMemoryError if it has no room.
    """

    def __init__(self, plan, bound: Bound, memory):
        self._memory = memory
        self._blocks = blocks_of(plan, bound)
        memory.reserve(sum(block.size + ALIGNMENT for block in self._blocks))
        for block in self._blocks:
            memory.allocate(block)
        pointers = list(bound.pointers)
        for block in self._blocks:
            for number in block.views:
                pointers[number] += block.address - block.source
        self._restored = [block for block in self._blocks if block.contents]
        values = memory.arguments(plan, bound, self._blocks)
        # The caller's objects live on through `keep`, whatever becomes of the call.
        self.bound = Bound(values, pointers, bound.layout, (bound, self._blocks), bound.symbols)

    @property
    def restores(self) -> bool:
        """Whether a trial can change what the next one reads."""
        return bool(self._restored)

    def restore(self) -> None:
        """The initial contents, byte for byte. On a device the copies are queued like any other work."""
        for block in self._restored:
            self._memory.copy(block)


class HostMemory:
    """Blocks in this process's memory."""

    def reserve(self, size: int) -> None:
        """TrialMemoryError if `size` bytes are more than the system has available."""
        available = _available()
        if available is not None and size > available:
            raise TrialMemoryError(f"{size} bytes of copies, {available} available")

    def allocate(self, block: Block) -> None:
        import numpy as np

        try:
            block.memory = np.empty(block.size + ALIGNMENT, np.uint8)
        except MemoryError:
            raise TrialMemoryError(f"{block.size} bytes of copies") from None
        start = block.memory.ctypes.data
        block.address = start + (block.source - start) % ALIGNMENT

    def copy(self, block: Block) -> None:
        import ctypes

        ctypes.memmove(block.address, block.source, block.size)

    def arguments(self, plan, bound, blocks) -> list:
        """Host launches read addresses alone, so that the caller's objects can stay."""
        return bound.values


def _available():
    """Bytes that the system can give without swapping, or None where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
