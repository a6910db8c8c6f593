"""Private memory of Triton launches: allocated through torch, so that streams and captured graphs keep it apart."""
from __future__ import annotations

from dataclasses import dataclass

from ..errors import ProviderError


@dataclass(frozen=True)
class Workspace:
    """Private memory of one launch, dense and row-major: torch's name of the dtype, extents, whether it is zero at allocation."""

    dtype: str
    shape: tuple
    zeroed: bool

    # As a view for the specialisation: torch aligns what it allocates.
    def data_ptr(self):
        return 0

    def allocate(self, device):
        """A tensor from torch's allocator on the device's current stream. ProviderError."""
        import torch

        make = torch.zeros if self.zeroed else torch.empty
        try:
            return make(self.shape, dtype=getattr(torch, self.dtype), device=device)
        except (RuntimeError, MemoryError, OverflowError, TypeError) as error:
            raise ProviderError(f"cannot allocate a workspace of {self.dtype} {list(self.shape)} on {device}", original=error) from error


class Workspaces:
    """The workspaces of repeated launches: one set a stream, whose launches follow each other.

    A launch that a CUDA graph captures gets its own: the graph owns it, and the captured allocation zeroes it at each replay.
    With `retain`, memory that need not be zero is kept as well, for a call that repeats.
    """

    _STREAMS = 64

    def __init__(self, arguments, device, retain=False):
        self.places = [(at, argument) for at, argument in enumerate(arguments) if isinstance(argument, Workspace)]
        self.device, self.retain, self.kept = device, retain, {}

    def __bool__(self):
        return bool(self.places)

    def fill(self, arguments, stream):
        """Replaces the workspaces among the arguments by tensors for a launch on `stream`, the current one."""
        import torch

        kept = None
        if self.device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
            kept = self.kept.get(stream)
            if kept is None:
                if len(self.kept) >= self._STREAMS:
                    self.kept.clear()  # the allocator reuses memory of a stream in that stream's order
                kept = self.kept.setdefault(stream, {})
        for at, workspace in self.places:
            tensor = kept.get(at) if kept is not None else None
            if tensor is None:
                tensor = workspace.allocate(self.device)
                if kept is not None and (self.retain or workspace.zeroed):
                    tensor = kept.setdefault(at, tensor)
            arguments[at] = tensor

    def drop(self, stream):
        """Forgets what a failed launch may have left in disorder."""
        self.kept.pop(stream, None)
