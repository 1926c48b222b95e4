"""`make mutants`: does a test notice when `lsa` is changed a little?

Every mutant is one module of `lsa` with one small change: + for −, a constant moved, a condition turned, a
keyword dropped, the factors of @ exchanged, a statement left out … It lies in a folder of its own, first on
the path, and only tests that call the changed function are run, the fastest first, until one fails. A
survivor is a missing test or an equivalent mutant; the latter are listed in mutants.toml, with the reason.

    python tests/mutants.py theory targets --sample 100     # some modules, 100 mutants

Killed mutants are remembered in _build/mutants until their module changes; survivors are tried anew.
"""

import argparse
import ast
import contextlib
import copy
import hashlib
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[1]
SOURCE, MEMORY = ROOT / "lsa", ROOT / "_build" / "mutants"
MODULES = sorted(path.stem for path in SOURCE.glob("*.py") if path.stem != "__init__")
FILES = {str(SOURCE / f"{module}.py"): module for module in MODULES}
TESTS = [
    "bad_input", "baselines", "checks", "compare", "data", "defaults", "ladder", "landscape", "model",
    "population", "properties", "quadrature", "softmax", "theory", "training", "transformer", "user_data",
]  # fmt: skip

SURVIVED, KILLED = {0, 5}, {1, 2, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT}  # what pytest ends with
QUIET = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]

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
    key: str
    source: Callable[[], str]  #: of the whole module


def mutants(module: str) -> list[Mutant]:
    text = (SOURCE / f"{module}.py").read_text(encoding="utf-8")
    tree, lines, found = ast.parse(text), text.splitlines(), []
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    def short(node: ast.AST) -> str:
        return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0][:100]

    def add(function: str, holder, key, new: ast.AST) -> None:
        old = holder[key]

        def source() -> str:
            holder[key] = new
            result = ast.unparse(tree)
            holder[key] = old
            return result

        names = module, function, lines[old.lineno - 1].strip(), old.lineno, f"{short(old)} → {short(new)}"
        found.append(Mutant(*names, f"{module}-{digest}-{len(found)}", source))

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
        self.seen, self.found, self.shared = set(), {}, {}

    def trace(self, frame, event, argument):  # called very often
        if module := FILES.get(frame.f_code.co_filename):
            self.seen.add((module, frame.f_code.co_qualname))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        self.seen = self.shared.setdefault(collector.nodeid.split("::")[0], set())
        sys.settrace(self.trace)
        result = yield
        sys.settrace(None)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):  # what a fixture calls concerns all tests of the file
        self.seen = self.shared.setdefault(item.nodeid.split("::")[0], set())
        for module in [each for name, each in sys.modules.items() if name.startswith("lsa.")]:
            for each in vars(module).values():
                getattr(each, "cache_clear", lambda: None)()
        sys.settrace(self.trace)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        self.seen, start = set(), time.process_time()
        result = yield
        sys.settrace(None)
        self.found[item.nodeid] = (time.process_time() - start, self.seen)
        return result


class Chosen:
    """A pytest plugin: some tests, in their order."""

    def __init__(self, names: list[str]):
        self.order = {name: k for k, name in enumerate(names)}

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


def preload() -> None:
    """Load once for all what `lsa` and the tests need, but not them: that halves the time of a mutant."""
    files = [str(HERE / "science" / f"test_{test}.py") for test in TESTS]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main([*QUIET, "--collect-only", *files])
    own = {"lsa", *(path.stem for path in HERE.glob("*.py"))}
    for name in [name for name in sys.modules if name.split(".")[0] in own]:
        del sys.modules[name]


def child(path: Path, work) -> int:
    """A process of its own that imports `lsa` from a folder; returns its id."""
    if pid := os.fork():
        return pid
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        sys.path.insert(0, str(path))
        try:
            found = importlib.import_module("lsa").__file__  # now: pytest puts folders of its own first
        except Exception:
            os._exit(1)  # a mutant that cannot be imported is noticed
        os._exit(work() if Path(found).is_relative_to(path) else 70)
    except BaseException:
        os._exit(70)


def observe(test: str) -> dict[str, tuple[float, set[str]]]:
    """The tests of a file: seconds, and what each calls; remembered until the file changes.

    When `lsa` has changed meanwhile, a test may be overlooked: that makes survivors, never a false kill.
    """
    file = HERE / "science" / f"test_{test}.py"
    kept = MEMORY / f"{test}-{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}.json"
    if not kept.exists():
        for old in MEMORY.glob(f"{test}-*.json"):
            old.unlink()
        print(f"watching {file.name}", flush=True)

        def work() -> int:
            observer = Observer()
            status = pytest.main([*QUIET, str(file)], plugins=[observer])
            common = observer.shared[f"tests/{file.name}"]
            found = {
                name: (cost, sorted({f"{m}:{f.split('.<locals>')[0]}" for m, f in seen | common}))
                for name, (cost, seen) in observer.found.items()
            }
            if status == 0:
                kept.write_text(json.dumps(found), encoding="utf-8")
            return status

        if os.waitpid(child(ROOT, work), 0)[1]:
            raise SystemExit(f"{file.name} fails as it is: no mutant can be judged")
    return {name: (cost, set(seen)) for name, (cost, seen) in json.loads(kept.read_text()).items()}


def choose(mutant: Mutant, tests: dict, limit: float) -> list[str]:
    """The tests that call what was changed, fastest first, as many as take `limit` seconds."""
    module, wanted = f"{mutant.module}:", f"{mutant.module}:{mutant.function}"
    names = [(cost, name) for name, (cost, seen) in tests.items() if wanted in seen] or [
        (cost, name) for name, (cost, seen) in tests.items() if any(each.startswith(module) for each in seen)
    ]
    chosen = []
    for cost, name in sorted(names):
        limit -= cost
        if limit < 0 and chosen:
            break
        chosen.append(name)
    return [name for name in tests if "test_defaults" in name] + chosen  # defaults are read, not called


def start(mutant: Mutant, names: list[str], folder: Path) -> int:
    package = folder / "lsa"
    package.mkdir()
    for path in SOURCE.iterdir():
        if path.stem != mutant.module:
            (package / path.name).symlink_to(path)
    (package / f"{mutant.module}.py").write_text(mutant.source(), encoding="utf-8")

    def work() -> int:
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)  # a mutant may ask for the world
        files = sorted({name.split("::")[0] for name in names})
        return pytest.main([*QUIET, *files], plugins=[Chosen(names)]) if names else 0

    return child(folder, work)


def judge(todo: list[Mutant], tests: dict, jobs: int, limit: float) -> dict[Mutant, bool]:
    """Which are killed. A mutant that takes far longer than its tests should is killed, too."""
    running, verdict, todo = {}, {}, list(todo)
    while todo or running:
        while todo and len(running) < jobs:
            mutant, folder = todo.pop(), tempfile.TemporaryDirectory()
            names = choose(mutant, tests, limit)
            allowed = 60 + 5 * sum(tests[name][0] for name in names)
            running[start(mutant, names, Path(folder.name))] = mutant, folder, time.monotonic() + allowed
        for pid, (mutant, folder, until) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                done, status = os.waitpid(pid, 0)
            if done:
                code = os.waitstatus_to_exitcode(status)
                if code not in SURVIVED | KILLED:
                    raise SystemExit(f"\n{mutant.module}.py:{mutant.number}: pytest could not run ({code})")
                verdict[mutant] = code in KILLED
                folder.cleanup()
                del running[pid]
                if verdict[mutant]:
                    (MEMORY / "killed" / mutant.key).touch()
                else:
                    print(f"\n{mutant.module}.py:{mutant.number}: {mutant.line}\n    {mutant.change}")
                print(f"\r{len(verdict)} judged, {len(todo)} to go ", end="", flush=True)
        time.sleep(0.02)
    print()
    return verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="module", help="all, unless named")
    parser.add_argument("--sample", type=int, default=500, help="so many mutants at random; 0: all (hours)")
    parser.add_argument("--seed", type=int, default=None, help="of the sample; else a new one")
    parser.add_argument("--limit", type=float, default=30, help="seconds of tests for a mutant")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    everything = [mutant for module in options.modules for mutant in mutants(module)]
    reasons = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))
    listed = {(e["module"], e["line"], change) for e in reasons["equivalent"] for change in e["changes"]}
    equivalent = {m for m in everything if (m.module, m.line, m.change) in listed}
    for entry in sorted(listed - {(m.module, m.line, m.change) for m in equivalent}):
        if entry[0] in options.modules:
            print("listed in mutants.toml, but no longer there:", *entry, sep="\n    ")
    judged = [mutant for mutant in everything if mutant not in equivalent]
    if options.sample and options.sample < len(judged):
        judged = random.Random(seed).sample(judged, options.sample)
    (MEMORY / "killed").mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    preload()
    tests = {name: each for test in TESTS for name, each in observe(test).items()}
    verdict = {m: True for m in judged if (MEMORY / "killed" / m.key).exists()}
    print(f"{len(everything)} mutants, {len(equivalent)} listed as equivalent; {len(judged)} to be judged")
    print(f"(sample {options.sample}, seed {seed}), {len(verdict)} of them killed before")
    verdict |= judge([m for m in judged if m not in verdict], tests, options.jobs, options.limit)
    print(f"{'module':16} {'judged':>7} {'killed':>7}")
    for module in options.modules:
        of = [killed for mutant, killed in verdict.items() if mutant.module == module]
        print(f"{module:16} {len(of):7} {sum(of):7} {sum(of) / max(len(of), 1):7.1%}")
    killed = sum(verdict.values())
    print(f"{'all':16} {len(verdict):7} {killed:7} {killed / max(len(verdict), 1):7.1%}")


if __name__ == "__main__":
    main()
