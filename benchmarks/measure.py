"""Speed, as ratios measured side by side in one run: `make bench`.

Prints tables and writes benchmarks/results.json, which the chapter on speed shows. Every time is the median
of repeats that take turns, so that a busy moment of the machine hits all that is compared; and of one thread,
because two that wait for each other on a busy machine would measure the machine.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from compared import draw_prompts, materialised_step, moving_tokens, prompt_step

import lsa
from lsa.ladder import gauss_rule, jacobi

HERE = Path(__file__).resolve().parent
BOOK = HERE.parent / "book"
Layer = lsa.LinearSelfAttention


def side_by_side(actions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each action; the repeats take turns."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for repeat in range(repeats + 1):
        for name, action in actions.items():
            begin = time.perf_counter()
            action()
            if repeat:  # the first is to warm up
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def steps_against_context() -> list[dict]:
    """(a), (b): one training step, d = 10, batch 256, against the length n of the prompt."""
    batch, inner, rows = 256, 20, []
    ours = {"loss": "samples", "steps": inner, "batch": batch, "learning_rate": 1e-4, "progress": False}
    for n in (20, 200, 2000, 20000):
        task, layer = lsa.isotropic(10, n, 0.25), Layer(10, generator=0)
        actions = {
            "ours": partial(lsa.fit, layer, task, **ours),
            "prompt": partial(prompt_step, layer, task, batch),
            "draw": partial(draw_prompts, task, batch),
        }
        few = 16 if n == 2000 else batch  # sixteen prompts are measured there; the cost is linear in them
        if n <= 2000:  # at 20,000 the scores of a single prompt take 3.2 GB, several times over
            micro = min(few, 16_000_000 // n**2)
            actions["scores"] = partial(materialised_step, layer, task, few, micro)
        found = side_by_side(actions, repeats=3 if n >= 2000 else 7)
        scores = found["scores"] * batch / few if "scores" in found else None
        rows.append({"n": n, **found, "ours": found["ours"] / inner, "scores": scores})
    return rows


def time_to_precision() -> list[dict]:
    """(c): seconds until the relative excess over L* is first below a level; d = 10, n = 20, σ² = 0.25."""
    task, rows = lsa.isotropic(10, 20, 0.25), []
    kinds = {
        "samples, Adam": {"loss": "samples", "generator": 1},
        "exact, Adam": {"loss": "exact", "optimizer": "adam"},
        "exact, L-BFGS": {"optimizer": "lbfgs"},
        "exact, alternating least squares": {"optimizer": "als"},
    }
    for name, options in kinds.items():
        begin = time.perf_counter()
        run = lsa.fit(Layer(10, generator=0), task, progress=False, **options)
        seconds = time.perf_counter() - begin
        row = {"training": name, "seconds": seconds, "excess": run.excess[-1].item()}
        for level in (1e-3, 1e-6, 1e-12):
            below = (run.excess <= level).nonzero()
            reached = len(below) > 0
            row[f"{level:.0e}"] = seconds * below[0].item() / (len(run.losses) - 1) if reached else None
        rows.append(row)
    return rows


def stacked_runs(runs: int = 32) -> list[dict]:
    """(d): many runs at once against the same runs one after the other, and against one; d = 10."""
    task, rows = lsa.isotropic(10, 20, 0.25), []
    for loss, steps in (("exact", 30), ("samples", 10)):
        options = {"loss": loss, "optimizer": "adam", "steps": steps, "progress": False}
        options |= {"batch": 256} if loss == "samples" else {}
        layers = [Layer(10, generator=seed) for seed in range(runs)]
        stack = Layer.stack(layers)
        actions = {
            "stacked": partial(lsa.fit, stack, task, **options),
            "in a row": lambda layers=layers, options=options: [lsa.fit(k, task, **options) for k in layers],
            "one": partial(lsa.fit, layers[0], task, **options),
        }
        found = side_by_side(actions, repeats=3)
        rows.append({"loss": loss, "runs": runs, **{k: v / steps for k, v in found.items()}})
    return rows


def exact_loss_against_products() -> list[dict]:
    """(e): the exact loss and its gradient, one head, in units of a product of two d × d matrices."""
    rows = []
    for d in (50, 100, 200, 500):
        values = torch.linspace(0.5, 2, d, dtype=torch.float64)
        rotation, _ = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))
        sigma = rotation * values @ rotation.T
        task = lsa.Task(lsa.Gaussian((sigma + sigma.T) / 2), lsa.Linear(torch.eye(d)), 2 * d, 0.25)
        layer, one, other = Layer(d, generator=0), torch.randn(d, d).double(), torch.randn(d, d).double()
        actions = {
            "loss": lambda layer=layer, task=task: lsa.population_loss(layer, task).backward(),
            "product": partial(torch.matmul, one, other),
        }
        rows.append({"d": d, **side_by_side(actions, repeats=15)})
    return rows


def large_training() -> list[dict]:
    """Exact training at d = 100, n = 200, from random weights."""
    task, rows = lsa.isotropic(100, 200, 0.25), []
    for optimizer in ("lbfgs", "als"):
        begin = time.perf_counter()
        run = lsa.fit(Layer(100, generator=0), task, optimizer=optimizer, progress=False)
        excess = run.excess[-1].item()
        rows.append({"optimizer": optimizer, "seconds": time.perf_counter() - begin, "excess": excess})
    return rows


def executed() -> list[str]:
    """The notebooks that hold code."""
    notebooks = sorted(BOOK.glob("*.ipynb"))
    return [path.name for path in notebooks if '"cell_type": "code"' in path.read_text(encoding="utf-8")]


def ladder_against_steps() -> list[dict]:
    """The exact ladder against the number of steps k, n = 20, d = 10."""
    task = lsa.isotropic(10, 20, 0.25)

    def climb(k):
        jacobi.cache_clear(), gauss_rule.cache_clear()
        lsa.ladder(task, k)

    found = side_by_side({k: partial(climb, k) for k in (1, 5, 10, 20, 40)}, repeats=5)
    return [{"k": k, "ladder": seconds} for k, seconds in found.items()]


def deep_against_context() -> list[dict]:
    """A training step of three layers, d = 10, batch 256: on Gram matrices, and on tokens that move."""
    lengths, model = (20, 200, 2000, 20000), lsa.LinearTransformer(10, 3, scale=1e-3, generator=0)
    tasks = {n: lsa.isotropic(10, n, 0.25) for n in lengths}

    def on_gram(n):
        model.sampled_losses(tasks[n], 256).mean().backward()

    gram = side_by_side({n: partial(on_gram, n) for n in lengths}, repeats=15)
    few = lengths[:-1]  # at 20,000 the moved tokens of all layers take gigabytes
    tokens = side_by_side({n: partial(moving_tokens, model, tasks[n], 256) for n in few}, repeats=3)
    return [{"n": n, "gram": gram[n], "tokens": tokens.get(n)} for n in lengths]


def chapters() -> list[dict]:
    """(f): seconds and peak memory of `pytest --nbval` on each chapter, and on the whole book."""
    rows = []
    subprocess.run([sys.executable, BOOK / "_tools" / "execute.py", "speed"], check=True)  # it shows the rest
    for name in [*executed(), ""]:
        command = [sys.executable, "-m", "pytest", "-q", "--nbval", str(BOOK / name)]
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # it was waited for here
        if process.returncode:
            sys.exit(f"pytest --nbval book/{name} failed")
        seconds = time.perf_counter() - begin
        rows.append(
            {
                "chapter": name.removesuffix(".ipynb") or "all",
                "seconds": seconds,
                "MB": usage.ru_maxrss / 1024,
            }
        )
    return rows


PARTS = {
    "steps": steps_against_context,
    "precision": time_to_precision,
    "stacked": stacked_runs,
    "exact": exact_loss_against_products,
    "large": large_training,
    "ladder": ladder_against_steps,
    "deep": deep_against_context,
    "chapters": chapters,
}


def machine() -> dict:
    model = platform.machine()
    if (info := Path("/proc/cpuinfo")).exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    return {"processor": model, "cores": os.cpu_count(), "torch": torch.__version__.partition("+")[0]}


def ratios(results: dict) -> dict[str, float]:
    """The figures that are promised, each a quotient of two times of one run."""
    step = {row["n"]: row for row in results["steps"]}
    exact, samples = results["stacked"]
    rungs = {row["k"]: row for row in results["ladder"]}
    deep = {row["n"]: row for row in results["deep"]}
    return {
        "a step at n = 20,000 over one at n = 20": step[20000]["ours"] / step[20]["ours"],
        "all n × n scores over our step, n = 2000": step[2000]["scores"] / step[2000]["ours"],
        "a step on prompts over our step, n = 2000": step[2000]["prompt"] / step[2000]["ours"],
        "drawing the prompts over our step, n = 2000": step[2000]["draw"] / step[2000]["ours"],
        "32 stacked runs over one, exact loss": exact["stacked"] / exact["one"],
        "32 runs in a row over 32 stacked, samples": samples["in a row"] / samples["stacked"],
        "exact loss and gradient over a matrix product, d = 500": results["exact"][-1]["loss"]
        / results["exact"][-1]["product"],
        "three layers at n = 20,000 over n = 20": deep[20000]["gram"] / deep[20]["gram"],
        "three layers on tokens over Gram matrices, n = 2000": deep[2000]["tokens"] / deep[2000]["gram"],
        "twenty rungs of the ladder over ten": rungs[20]["ladder"] / rungs[10]["ladder"],
    }


def show(title: str, rows: list[dict]) -> None:
    def written(value: object) -> str:
        return "—" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)

    lines = [list(rows[0]), *([written(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}")
    for line in lines:
        print("  " + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"which to measure again: {', '.join(PARTS)} (all)")
    chosen = parser.parse_args().parts or list(PARTS)
    if len(chosen) > 1:  # each in a process of its own, or the next would inherit its peak memory
        for name in chosen:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    torch.set_num_threads(1)
    (name,) = chosen
    results |= {"machine": machine(), name: PARTS[name]()}
    show(PARTS[name].__doc__.partition("\n")[0], results[name])
    parts = {"steps", "stacked", "exact", "ladder", "deep"}
    if parts <= results.keys():
        results["ratios"] = ratios(results)
        if name in parts:
            show("ratios so far", [{"what": key, "ratio": value} for key, value in results["ratios"].items()])
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
