"""The mathematics of two live figures, run by node, against `lsa`: the ladder and softmax attention."""

import math

import pytest
from helpers.javascript import node

import lsa
from lsa.ladder import trace_moments


def test_moments_are_the_same_integers():
    pairs = [(1, 1), (10, 5), (3, 20), (60, 20)]
    code = """import { traceMoments } from "./wishart.js";
    console.log(JSON.stringify(given.map(([n, d]) => traceMoments(n, d, 24).map(String))));"""
    for (n, d), found in zip(pairs, node(code, pairs), strict=True):
        assert list(map(int, found)) == trace_moments(n, d, 24)


def test_the_ladder_in_the_browser():
    cases = [(10, 5, 0.25), (20, 5, 0.0), (1, 1, 0.3), (60, 20, 1.0), (2, 20, 0.05)]
    code = """import { gaussNodes, jacobi, ladderLoss, recovered } from "./wishart.js";
    console.log(JSON.stringify(given.map(([n, d, noise]) => {
      const recursion = jacobi(n, d, 12), nodes = gaussNodes(recursion, 5);
      return { nodes, losses: Array.from({ length: 13 }, (_, k) => ladderLoss(recursion, d, noise, k)),
        met: nodes.map((x) => recovered(nodes, noise, x) * (x + noise) / x),
        half: recovered(nodes, noise, nodes[4] / 2) };
    })));"""
    for (n, d, noise), found in zip(cases, node(code, cases), strict=True):
        rungs = [lsa.ladder(lsa.isotropic(d, n, noise), k) for k in range(13)]
        assert found["losses"] == pytest.approx([rung.loss for rung in rungs], abs=1e-12 * (d + noise))
        assert found["nodes"] == pytest.approx(rungs[5].nodes.tolist(), rel=1e-11)
        assert found["met"] == pytest.approx([1] * 5, rel=1e-12)
        x = rungs[5].nodes[4] / 2
        left = (1 - (x + noise) * rungs[5].steps).prod()
        assert found["half"] == pytest.approx((x / (x + noise) * (1 - left)).item(), rel=1e-9)


def test_softmax_in_the_browser():
    widget = lsa.live.temperature(lengths=(2, 10))
    cases = [(2, 10, 0.25, -4), (1, 10, 0.0, 5), (10, 2, 1.0, -12), (5, 10, 0.25, -2)]
    code = """import { scoreFloor, softmaxLosses } from "./scores.js";
    console.log(JSON.stringify(given.cases.map(([d, n, noise, k]) => {
      const table = { from: given.table.from, rows: given.table.rows[given.table.lengths.indexOf(n)] };
      return [...softmaxLosses(table, d, n, noise, k), scoreFloor(d, n, noise)];
    })));"""
    found = node(code, {"cases": cases, "table": widget.table})
    widget.close()
    for (d, n, noise, k), (head, pair, floor) in zip(cases, found, strict=True):
        task, beta = lsa.isotropic(d, n, noise), math.exp(k / 10)
        for each, both in ((head, False), (pair, True)):
            exact = lsa.softmax_loss(task, beta, pair=both)
            assert each["loss"] == pytest.approx(exact.loss, abs=2e-6)
            assert each["gain"] == pytest.approx(exact.gain, rel=1e-5)
        assert floor == pytest.approx(lsa.score_floor(task), rel=1e-11)
