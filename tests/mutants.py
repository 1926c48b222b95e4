"""`make mutants`: does a test notice when `lsa` is changed a little?

Every mutant is one module of `lsa` with one small change: + for −, a constant moved, a condition turned, a
keyword dropped, the factors of @ exchanged, a statement left out … It lies in a folder of its own, first on
the path, and tests that call the changed function are run, the fastest first, until one fails. A survivor is
a missing test or an equivalent mutant; the latter are listed in mutants.toml, with the reason.

    python tests/mutants.py theory targets --sample 100     # some modules, 100 mutants

mutmut 3.8 was tried on four modules. It runs, but has no sample (1,100 mutants there, each with all tests
that reach it), leaves out properties and other decorated functions, does not exchange the factors of @, and
wants an equivalent marked in `lsa` itself; most of its survivors were in the wording of errors.
"""

import argparse
import ast
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[1]
SOURCE, MEMORY = ROOT / "lsa", ROOT / "_build" / "mutants.json"
MODULES = sorted(path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__")
FILES = {str(SOURCE / f"{module}.py"): module for module in MODULES}
TESTS = [
    HERE / "science" / f"test_{name}.py"
    for name in (
        "bad_input", "baselines", "checks", "compare", "data", "defaults", "ladder", "landscape", "model",
        "population", "properties", "quadrature", "softmax", "theory", "training", "transformer", "user_data",
    )
]  # fmt: skip
QUIET = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
LIMIT = 30  # seconds of tests for a mutant

# ---- what is changed ----

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "mean": "sum", "sum": "mean", "cos": "sin"}
DROPPED = {"abs", "square", "sqrt", "clone", "double", "norm"}  # x.abs() becomes x
KEPT = {"dtype", "strict"}  # keywords that stay: zeros in float32 are zeros, and the lengths in a zip agree


def variants(node: ast.AST) -> list[ast.AST]:
    """What may stand in the place of a node."""

    def but(**fields) -> ast.AST:
        new = copy.copy(node)
        vars(new).update(fields)
        return new

    match node:
        case ast.BinOp(op=ast.MatMult()):
            return [but(left=node.right, right=node.left)]
        case ast.BinOp() if type(node.op) in OPERATORS:
            return [but(op=OPERATORS[type(node.op)]())]
        case ast.AugAssign():
            return [but(op=OPERATORS[type(node.op)]()), ast.Pass()]
        case ast.BoolOp():
            return [but(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return [node.operand]
        case ast.Compare():
            others = [(k, other()) for k, op in enumerate(node.ops) for other in COMPARISONS[type(op)]]
            return [but(ops=[*node.ops[:k], other, *node.ops[k + 1 :]]) for k, other in others]
        case ast.Constant(value=bool()):
            return [but(value=not node.value)]
        case ast.Constant(value=int()):
            return [but(value=node.value + 1)]
        case ast.Constant(value=float()):
            factor = 2 if abs(node.value) > 1e-6 else 1000  # a tolerance
            return [but(value=factor * node.value or 1.0)]
        case ast.If() | ast.IfExp():
            return [but(test=ast.Constant(value)) for value in (False, True)]
        case ast.Attribute() if node.attr in NAMES:
            return [but(attr=NAMES[node.attr])]
        case ast.Attribute() if node.attr in ("T", "mT"):
            return [node.value]
        case ast.Name() if node.id in NAMES:
            return [but(id=NAMES[node.id])]
        case ast.Call():
            spare = [k for k, keyword in enumerate(node.keywords) if keyword.arg not in KEPT]
            found = [but(keywords=node.keywords[:k] + node.keywords[k + 1 :]) for k in spare]
            method = isinstance(node.func, ast.Attribute) and node.func.attr in DROPPED and not node.args
            return [*found, node.func.value] if method else found
        case ast.Expr(value=ast.Call()):
            return [ast.Pass()]
    return []


class Mutant(NamedTuple):
    module: str
    function: str  #: the outermost one around the change; empty at the top level of module or class
    line: str
    number: int
    change: str
    source: Callable[[], str]  #: of the whole module


def mutants(module: str) -> list[Mutant]:
    text = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    tree, lines, found = ast.parse(text), text.splitlines(), []

    def short(node: ast.AST) -> str:
        return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0][:100]

    def add(function: str, holder, key, new: ast.AST) -> None:
        old = holder[key]

        def source() -> str:
            holder[key] = new
            result = ast.unparse(tree)
            holder[key] = old
            return result

        line, change = lines[old.lineno - 1].strip(), f"{short(old)} → {short(new)}"
        found.append(Mutant(module, function, line, old.lineno, change, source))

    def visit(node: ast.AST, classes: str, function: str) -> None:
        if isinstance(node, ast.FunctionDef) and not function:
            function = classes + node.name
        if isinstance(node, ast.ClassDef):
            classes += f"{node.name}."
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "checks.fail":
            return  # the wording of an error
        for field, value in ast.iter_fields(node):
            holder = value if isinstance(value, list) else vars(node)
            for key in range(len(value)) if isinstance(value, list) else [field]:
                child = holder[key]
                spared = field in ("annotation", "returns", "decorator_list", "bases")
                spared |= isinstance(child, ast.keyword) and child.arg in KEPT
                if spared or not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                    continue
                for new in variants(child):
                    add(function, holder, key, new)
                visit(child, classes, function)

    visit(tree, "", "")
    return found


# ---- who is asked ----


class Observer:
    """A pytest plugin: how long each test takes, and which functions of `lsa` it calls."""

    def __init__(self):
        self.found, self.of_file = {}, defaultdict(set)

    @contextmanager
    def watching(self, seen: set):
        def trace(frame, event, argument):  # called very often
            if module := FILES.get(frame.f_code.co_filename):
                seen.add((module, frame.f_code.co_qualname))

        sys.settrace(trace)
        yield
        sys.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        with self.watching(self.of_file[collector.path.name]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):  # what a fixture calls concerns all tests of the file
        for module in [each for name, each in sys.modules.items() if name.startswith("lsa.")]:
            for each in vars(module).values():
                getattr(each, "cache_clear", lambda: None)()
        with self.watching(self.of_file[item.path.name]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        seen, start = set(), time.process_time()
        with self.watching(seen):
            result = yield
        self.found[item.nodeid] = (time.process_time() - start, item.path.name, seen)
        return result


def observe() -> dict[str, tuple[float, set[str]]]:
    """The tests: seconds, and what each calls; remembered until a test or the package changes."""
    newest = max(path.stat().st_mtime for path in (*TESTS, *SOURCE.glob("*.py")))
    if not MEMORY.exists() or MEMORY.stat().st_mtime < newest:
        print("watching which test calls what", flush=True)
        observer = Observer()
        if pytest.main([*QUIET, *map(str, TESTS)], plugins=[observer]):
            raise SystemExit("the tests fail as they are: no mutant can be judged")
        found = {
            name: (cost, sorted({f"{m}:{f.split('.<locals>')[0]}" for m, f in seen | observer.of_file[file]}))
            for name, (cost, file, seen) in observer.found.items()
        }
        MEMORY.parent.mkdir(exist_ok=True)
        MEMORY.write_text(json.dumps(found), encoding="utf-8")
    return {name: (cost, set(seen)) for name, (cost, seen) in json.loads(MEMORY.read_text()).items()}


def choose(mutant: Mutant, tests: dict) -> list[str]:
    """The tests that call what was changed, fastest first, as many as take LIMIT seconds."""
    module, wanted = f"{mutant.module}:", f"{mutant.module}:{mutant.function}"
    names = [(cost, name) for name, (cost, seen) in tests.items() if wanted in seen] or [
        (cost, name) for name, (cost, seen) in tests.items() if any(each.startswith(module) for each in seen)
    ]
    chosen, left = [], LIMIT
    for cost, name in sorted(names):
        left -= cost
        if left < 0 and chosen:
            break
        chosen.append(name)
    return [name for name in tests if "test_defaults" in name] + chosen  # defaults are read, not called


RUN = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)  # a mutant may ask for the world
import lsa, pytest
order = {name: k for k, name in enumerate(json.load(sys.stdin))}

class Chosen:
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in order), key=lambda i: order[i.nodeid])

files = sorted({name.split("::")[0] for name in order})
mutated = lsa.__file__.startswith(sys.argv[1])
sys.exit(pytest.main([*sys.argv[2:], *files], plugins=[Chosen()]) if mutated else 70)
"""


def survives(mutant: Mutant, source: str, names: list[str], seconds: float) -> bool:
    """Whether no test fails; one that takes far longer than it should does."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "lsa")
        package.mkdir()
        for path in SOURCE.iterdir():
            if path.stem != mutant.module:
                (package / path.name).symlink_to(path)
        (package / f"{mutant.module}.py").write_text(source, encoding="utf-8")
        command = [sys.executable, "-P", "-B", "-c", RUN, folder, *QUIET]
        options = {"env": os.environ | {"PYTHONPATH": folder}, "cwd": ROOT, "text": True}
        try:
            done = subprocess.run(
                command, input=json.dumps(names), timeout=60 + 5 * seconds, capture_output=True, **options
            )
        except subprocess.TimeoutExpired:
            return False
    if done.returncode > 2 and done.returncode != 5:
        raise SystemExit(f"{mutant.module}.py:{mutant.number}:\n{done.stdout}{done.stderr}")
    return done.returncode in (0, 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="module", help="all, unless named")
    parser.add_argument("--sample", type=int, default=500, help="so many mutants at random; 0: all (hours)")
    options = parser.parse_args()
    everything = [mutant for module in options.modules for mutant in mutants(module)]
    listed = {
        (module, line, change)
        for module, lines in tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8")).items()
        for line, changes in lines.items()
        for change in changes
    }
    judged = [each for each in everything if (each.module, each.line, each.change) not in listed]
    for entry in sorted(listed - {(each.module, each.line, each.change) for each in everything}):
        if entry[0] in options.modules:
            print("listed in mutants.toml, but no longer there:", *entry, sep="\n    ")
    if options.sample:
        judged = random.sample(judged, min(options.sample, len(judged)))
    tests = observe()
    print(f"{len(everything)} mutants; {len(judged)} of those not listed are judged", flush=True)
    survivors = dict.fromkeys(options.modules, 0)
    pool, running = ThreadPoolExecutor(os.cpu_count()), {}
    for mutant in judged:
        names = choose(mutant, tests)
        seconds = sum(tests[name][0] for name in names)
        running[pool.submit(survives, mutant, mutant.source(), names, seconds)] = mutant
    try:
        for done in as_completed(running):
            if done.result():
                mutant = running[done]
                survivors[mutant.module] += 1
                print(f"{mutant.module}.py:{mutant.number}: {mutant.line}\n    {mutant.change}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    for module, count in survivors.items():
        print(f"{module:16} {count:3} of {sum(each.module == module for each in judged):4} survive")


if __name__ == "__main__":
    main()
