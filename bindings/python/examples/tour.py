"""A tour of the package, which also shows that type checkers understand it."""

import libtensor as torch


def standardize(x: torch.Tensor, dim: int = 0) -> torch.Tensor:
    """Zero mean and unit variance along a dimension."""
    return (x - x.mean(dim, keepdim=True)) / x.std(dim, keepdim=True)


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3)
    y = standardize(x)
    print(y.shape, y.dtype, y.device)

    values, order = y.max(dim=0)
    print(values.tolist(), order.tolist())

    window = y[1:3, ::2]
    window.mul_(0)
    print("views share memory:", bool((y[1:3, ::2] == 0).all()))

    total: float = float(y.to(torch.float64).sum())
    print(f"{total:.3f}", torch.zeros(2, 3, dtype=torch.int32).nbytes, torch.finfo(torch.float16).max)

    xp = torch.array_api
    counts = xp.unique_counts(order).counts
    print(counts.tolist(), xp.isdtype(counts.dtype, ("integral", xp.bool)), xp.linalg.vector_norm(y, axis=0).shape)


if __name__ == "__main__":
    main()
