"""Arguments are checked where they enter; each error names the argument, its value and what is expected."""

import operator
from collections.abc import Sequence
from typing import NoReturn, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def fail(name: str, value: object, expected: str, error: type[Exception] = ValueError) -> NoReturn:
    shown = repr(value)
    if len(shown) > 200:  # an array
        shown = f"{' '.join(shown.split())[:160]} … ({type(value).__name__})"
    raise error(f"{name} = {shown}: expected {expected}")


def integer(name: str, value: int, least: int, most: int = 10**12) -> int:
    """An integer from `least` to `most`: beyond 10¹², n² is no longer exact in float64, let alone useful."""
    expected = f"an integer ≥ {least}"
    try:
        result = operator.index(value)
    except (TypeError, RuntimeError):
        fail(name, value, expected, TypeError)
    if isinstance(value, bool):
        fail(name, value, expected, TypeError)
    if not least <= result <= most:
        fail(name, value, f"{expected} and ≤ {most:.0e}" if result > most else expected)
    return result


def number(
    name: str, value: float | Tensor, *, least: float | None = None, above: float | None = None
) -> float:
    """A finite real number, at least `least` or strictly above `above`."""
    bound = f" ≥ {least:g}" if least is not None else f" > {above:g}" if above is not None else ""
    expected = f"a finite number{bound}"
    try:
        result = float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        fail(name, value, expected, TypeError)
    if isinstance(value, bool | str):
        fail(name, value, expected, TypeError)
    inside = (least is None or result >= least) and (above is None or result > above)
    if not (abs(result) < float("inf") and inside):
        fail(name, value, expected)
    return result


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        fail(name, value, "one of " + ", ".join(map(repr, allowed)))
    return value


def instance(name: str, value: object, kind: type[T], expected: str) -> T:
    if not isinstance(value, kind):
        fail(name, value, expected, TypeError)
    return value


def real(name: str, value: object, expected: str) -> Tensor:
    """A float64 tensor of finite numbers, a copy; from torch, numpy or lists of any real type."""
    try:
        given = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        fail(name, value, expected, TypeError)
    if given.is_complex() or given.dtype == torch.bool:
        fail(name, given.dtype, f"{expected}; this is its type", TypeError)
    # from the value itself, for a list of floats is rounded in `given`; still a function of it, for gradients
    result = torch.as_tensor(value, dtype=torch.float64).to("cpu", copy=True)
    if not torch.isfinite(result).all():
        fail(name, value, f"{expected}, every entry finite")
    return result


def vector(name: str, value: object, d: int) -> Tensor:
    """A vector (d,) of finite numbers, in float64."""
    expected = f"a vector of {d} numbers"
    result = real(name, value, expected)
    if result.shape != (d,):
        fail(name, tuple(result.shape), f"{expected}; this is its shape")
    return result


def square(name: str, value: object, d: int | None = None) -> Tensor:
    """A square matrix (d, d) of finite numbers, in float64; any d ≥ 1 when none is given."""
    expected = "a square matrix" if d is None else f"a {d} × {d} matrix"
    result = real(name, value, expected)
    shape = tuple(result.shape)
    if len(shape) != 2 or shape[0] < 1 or shape != (d or shape[0],) * 2:
        fail(name, shape, f"{expected}; this is its shape")
    return result


def covariance(name: str, value: object, d: int | None = None) -> Tensor:
    """A symmetric positive semi-definite matrix (d, d), in float64."""
    result = square(name, value, d)
    size = result.abs().max()
    if size > 1e50 or 0 < size < 1e-50:
        fail(name, value, "entries between 1e-50 and 1e50 in size, or all zero: other units would help")
    # what rounding leaves of symmetry and of a zero eigenvalue in the type the matrix comes in
    rounding = size * max(1e-9, 100 * torch.finfo(_kind(value)).eps)
    if (result - result.T).abs().max() > rounding:
        fail(name, value, "a symmetric matrix")
    result = (result + result.T) / 2
    smallest = torch.linalg.eigvalsh(result)[0].item()
    if smallest < -rounding:
        fail(name, value, f"a positive semi-definite matrix, but its smallest eigenvalue is {smallest:.3g}")
    return result


def _kind(value: object) -> torch.dtype:
    kind = torch.as_tensor(value).dtype if hasattr(value, "dtype") else torch.float64  # lists of floats
    return kind if kind.is_floating_point else torch.float64


def generator(value: torch.Generator | int | None) -> torch.Generator | None:
    """A torch generator; an integer is a seed, None is torch's global generator."""
    if value is None or isinstance(value, torch.Generator):
        return value
    try:
        seed = operator.index(value)
    except (TypeError, RuntimeError):
        fail("generator", value, "a torch.Generator, an integer seed or None", TypeError)
    if isinstance(value, bool) or not -(2**63) <= seed < 2**64:
        fail("generator", value, "a torch.Generator, an integer seed of 64 bits or None", TypeError)
    return torch.Generator().manual_seed(seed)
