"""Options of `functional.linear_cross_entropy`."""

import dataclasses


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` divides samples into chunks. `batch_chunk_size` is the number of samples whose logits are computed at
    once.

    If it is None, `chunking_method` determines it: with "aspect_ratio" or "auto" the logits of a chunk take about as much memory as the
    input, with "aspect_ratio:n" 1/n of that, and with None all samples are one chunk. The other options have no effect: sums of 16-bit
    floats are computed in float32, and the graph may be retained.

    >>> options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
    >>> x, w = torch.zeros(4, 3), torch.zeros(5, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([0, 1, 2, 3]), options=options)
    tensor(1.6094)
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None

    def __post_init__(self):
        if self.acc_policy not in ("auto", "accurate", "compact"):
            raise ValueError(f"acc_policy must be auto, accurate or compact, but is {self.acc_policy!r}")
        if self.batch_chunk_size is not None and not (isinstance(self.batch_chunk_size, int) and self.batch_chunk_size > 0):
            raise ValueError(f"batch_chunk_size must be a positive int or None, but is {self.batch_chunk_size!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            if name != "aspect_ratio" or colon and not (factor.isdigit() and int(factor) > 0):
                raise ValueError(f"chunking_method must be auto, aspect_ratio, aspect_ratio:n or None, but is {self.chunking_method!r}")

    def rows(self, examples, features, classes):
        """Returns the number of samples of a chunk."""
        rows = min(self.batch_chunk_size or examples, examples)
        method = self.chunking_method
        if method == "auto":
            method = None if self.batch_chunk_size else "aspect_ratio"
        if method and features:
            wanted = -(-examples // max(-(-classes // features), 1))
            rows = min((1 << max(wanted - 1, 0).bit_length()) // int(method.partition(":")[2] or 1), examples)
            if self.batch_chunk_size not in (None, rows):
                raise ValueError(
                    f"batch_chunk_size is {self.batch_chunk_size}, but chunking_method {method!r} has {rows}; pass only one of them"
                )
        return max(rows, 1)
