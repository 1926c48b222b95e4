"""Arguments are checked where they enter; each error names the argument, its value and what is expected."""

import torch
from torch import Tensor


def fail(name: str, value: object, expected: str, error: type[Exception] = ValueError):
    raise error(f"{name} = {value!r}: expected {expected}")


def integer(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        fail(name, value, f"an integer ≥ {least}", TypeError)
    if value < least:
        fail(name, value, f"an integer ≥ {least}")
    return int(value)


def number(name: str, value: float, *, least: float | None = None, above: float | None = None) -> float:
    """A finite real number, at least `least` or strictly above `above`."""
    bound = f" ≥ {least:g}" if least is not None else f" > {above:g}" if above is not None else ""
    expected = f"a finite number{bound}"
    try:
        result = float(value)
    except (TypeError, ValueError):
        fail(name, value, expected, TypeError)
    if isinstance(value, bool | str):
        fail(name, value, expected, TypeError)
    inside = (least is None or result >= least) and (above is None or result > above)
    if not (abs(result) < float("inf") and inside):
        fail(name, value, expected)
    return result


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        fail(name, value, "one of " + ", ".join(map(repr, allowed)))
    return value


def instance(name: str, value: object, kind: type | tuple[type, ...], expected: str):
    if not isinstance(value, kind):
        fail(name, value, expected, TypeError)
    return value


def _real_tensor(name: str, value: object, expected: str) -> Tensor:
    try:
        result = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        fail(name, value, expected, TypeError)
    if not torch.isfinite(result).all():
        fail(name, value, f"{expected}, every entry finite")
    return result


def vector(name: str, value: object, d: int) -> Tensor:
    """A vector (d,) of finite numbers, in float64."""
    expected = f"a vector of {d} numbers"
    result = _real_tensor(name, value, expected)
    if result.shape != (d,):
        fail(name, tuple(result.shape), f"{expected}; this is its shape")
    return result


def square(name: str, value: object, d: int | None = None) -> Tensor:
    """A square matrix (d, d) of finite numbers, in float64; any d ≥ 1 when none is given."""
    expected = "a square matrix" if d is None else f"a {d} × {d} matrix"
    result = _real_tensor(name, value, expected)
    shape = tuple(result.shape)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 1 or (d is not None and shape[0] != d):
        fail(name, shape, f"{expected}; this is its shape")
    return result


def covariance(name: str, value: object, d: int | None = None) -> Tensor:
    """A symmetric positive semi-definite matrix (d, d), in float64."""
    result = square(name, value, d)
    size = result.abs().max()
    if (result - result.T).abs().max() > 1e-9 * size:
        fail(name, value, "a symmetric matrix")
    result = (result + result.T) / 2
    smallest = torch.linalg.eigvalsh(result)[0].item()
    if smallest < -1e-9 * size:
        fail(name, value, f"a positive semi-definite matrix, but its smallest eigenvalue is {smallest:.3g}")
    return result


def generator(value: torch.Generator | int | None) -> torch.Generator | None:
    """A torch generator; an integer is a seed, None is torch's global generator."""
    if value is None or isinstance(value, torch.Generator):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        fail("generator", value, "a torch.Generator, an integer seed or None", TypeError)
    return torch.Generator().manual_seed(int(value))
