"""Where the checks of arguments draw their lines, from both sides."""

import math

import numpy as np
import pytest
import torch

from lsa import checks

eye = torch.eye(2, dtype=torch.float64)
off = torch.tensor([[0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)


def refused(call, *arguments, **options):
    with pytest.raises((TypeError, ValueError), match=r"expected"):
        call("x", *arguments, **options)
    return True


def test_integers():
    assert checks.integer("x", 3, 3) == 3
    assert checks.integer("x", np.int64(4), 3) == 4
    assert checks.integer("x", 10**12, 1) == 10**12
    assert all(refused(checks.integer, value, 3) for value in (2, True, 3.0, "3", None, 10**12 + 1))
    with pytest.raises(ValueError, match=r"^x = 2: expected an integer ≥ 3$"):
        checks.integer("x", 2, 3)
    with pytest.raises(ValueError, match=r"an integer ≥ 3 and ≤ 1e\+12$"):
        checks.integer("x", 10**13, 3)


def test_numbers():
    assert checks.number("x", 0, least=0) == 0
    assert checks.number("x", 1e-300, above=0) == 1e-300
    assert checks.number("x", torch.tensor(2.5, requires_grad=True)) == 2.5
    assert checks.number("x", -1e300) == -1e300
    assert refused(checks.number, -1e-300, least=0)
    assert refused(checks.number, 0, above=0)
    for value in (math.inf, -math.inf, math.nan, True, "1", None, [1.0, 2.0]):
        assert refused(checks.number, value)
    with pytest.raises(ValueError, match=r"a finite number ≥ 2$"):
        checks.number("x", 1, least=2)
    with pytest.raises(ValueError, match=r"a finite number > 2$"):
        checks.number("x", 1, above=2)
    with pytest.raises(ValueError, match=r"a finite number$"):
        checks.number("x", math.nan)


def test_arrays():
    for value in ([0.1, 2.0], np.array([0.1, 2.0]), torch.tensor([0.1, 2.0], dtype=torch.float64)):
        found = checks.vector("x", value, 2)
        assert found.dtype == torch.float64
        assert found.tolist() == [0.1, 2.0]
    given = torch.ones(2, dtype=torch.float64)
    checks.vector("x", given, 2).zero_()
    assert given.tolist() == [1.0, 1.0]
    for value in ([1.0], [[1.0, 2.0]], [1.0, math.inf], [1 + 2j, 0], [True, False], ["a", "b"], None):
        assert refused(checks.vector, value, 2)
    assert checks.square("x", [[3]]).shape == (1, 1)
    for value in ([1.0, 2.0], torch.ones(2, 3), torch.ones(0, 0), torch.ones(2, 2, 2)):
        assert refused(checks.square, value)
    assert refused(checks.square, eye, 3)
    assert checks.square("x", off, 2).equal(off)


def test_covariances():
    """Symmetric to 1e-9 of the largest entry, to 1e-5 in single precision, and no eigenvalue below that."""
    for slack, kind in ((1e-9, torch.float64), (100 * torch.finfo(torch.float32).eps, torch.float32)):
        for scale in (1.0, 1e6):
            inside, outside = (scale * (eye + factor * slack * off) for factor in (0.8, 1.3))
            found = checks.covariance("x", inside.to(kind))
            assert found.equal(found.T)
            assert found[0, 1] == pytest.approx(0.4 * slack * scale, rel=0.1)
            assert refused(checks.covariance, outside.to(kind))
            least = torch.tensor([1.0, 0.0], dtype=torch.float64).diag() * scale
            least[1, 1] = -0.8 * slack * scale
            checks.covariance("x", least.to(kind))
            least[1, 1] = -1.3 * slack * scale
            assert refused(checks.covariance, least.to(kind))
    assert refused(checks.covariance, [[1.0, 1e-6], [0.0, 1.0]])  # Python's numbers are no single precision
    assert checks.covariance("x", [[2, 1], [1, 2]]).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    for size, more in ((1e50, 1.5), (1e-50, 1 / 1.5)):
        checks.covariance("x", size * eye)
        assert refused(checks.covariance, more * size * eye)
    checks.covariance("x", 0 * eye)
    assert refused(checks.covariance, eye, 3)


def test_generators():
    own = torch.Generator()
    assert checks.generator(own) is own
    assert checks.generator(None) is None
    for seed in (0, np.int64(7), -(2**63), 2**64 - 1):
        assert isinstance(checks.generator(seed), torch.Generator)
    assert checks.generator(5).initial_seed() == 5
    for value in (True, 1.5, "0", 2**64, -(2**63) - 1):
        with pytest.raises(TypeError, match=r"generator = .*an integer seed"):
            checks.generator(value)


def test_choices_and_kinds():
    assert checks.choice("x", "a", ("a", "b")) == "a"
    assert refused(checks.choice, "c", ("a", "b"))
    assert checks.instance("x", 3, int, "an int") == 3
    assert refused(checks.instance, "3", int, "an int")
