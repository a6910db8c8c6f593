"""Trial memory that torch allocates, on the device of the call's tensors (see `trials`)."""
from __future__ import annotations

from .trials import ALIGNMENT, Block, TrialMemoryError


class TorchMemory:
    """Blocks on a torch device. Copies are queued on the current stream."""

    def __init__(self, plan, bound):
        self._tensors = [bound.values[at] for at, _ in plan.views]
        self._spans, self._pointers = bound.layout.spans, bound.pointers
        self._device = self._tensors[0].device if self._tensors else None

    def reserve(self, size: int) -> None:
        """TrialMemoryError if `size` bytes are more than the device has free."""
        import torch

        if self._device is None or self._device.type != "cuda":
            return
        free = torch.cuda.mem_get_info(self._device)[0] + torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)
        if size > free:
            raise TrialMemoryError(f"{size} bytes of copies, {free} available on {self._device}")

    def allocate(self, block: Block) -> None:
        import torch

        try:
            block.memory = torch.empty(block.size + ALIGNMENT, dtype=torch.uint8, device=self._device)
        except RuntimeError as error:
            raise TrialMemoryError(f"{block.size} bytes of copies: {str(error).splitlines()[0]}") from error
        start = block.memory.data_ptr()
        block.address = start + (block.source - start) % ALIGNMENT
        block.pieces = self._pieces(block) if block.contents else []

    def _pieces(self, block):
        """`(copy, original)` byte tensors that together cover the block: one where a storage holds all of it, else one a view."""
        offset = block.address - block.memory.data_ptr()
        whole = next((s for s in (self._tensors[number].untyped_storage() for number in block.views)
                      if s.data_ptr() <= block.source and block.source + block.size <= s.data_ptr() + s.nbytes()), None)
        spans = [(block.source, block.size, whole)] if whole is not None else [self._span(number) for number in block.views]
        return [(block.memory[offset + begin - block.source:][:size], _bytes(storage, begin, size, self._device)) for begin, size, storage in spans]

    def _span(self, number):
        low, high = self._spans[number]
        return self._pointers[number] + low, high - low, self._tensors[number].untyped_storage()

    def copy(self, block: Block) -> None:
        for copy, original in block.pieces:
            copy.copy_(original)

    def arguments(self, plan, bound, blocks) -> list:
        """The call's values with tensors on trial memory in the place of those that blocks hold."""
        import torch

        values = list(bound.values)
        for block in blocks:
            storage, start = block.memory.untyped_storage(), block.memory.data_ptr()
            for number in block.views:
                at, tensor = plan.views[number][0], self._tensors[number]
                offset = block.address + bound.pointers[number] - block.source - start
                values[at] = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, offset // tensor.element_size(), tensor.shape, tensor.stride())
        return values


def _bytes(storage, begin, size, device):
    """The bytes of a storage from an address on, as a tensor on the same memory."""
    import torch

    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage, begin - storage.data_ptr(), (size,), (1,))
