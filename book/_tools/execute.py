"""Run the chapters and write their notebooks: book/source/x.myst.md -> book/x.ipynb, in plain Markdown.

    python book/_tools/execute.py [--check] [--force] [--preview] [names ...]

The same sources give the same bytes on the same kind of machine. A chapter runs again when its code, `lsa` or
this tool has changed since its notebook was written; _build/notebooks.json keeps a record of that. Otherwise
its stored outputs are kept. Then Sphinx writes all notebooks (notebooks.py): a number that has changed in one
chapter may be named in any other. If a chapter fails, no notebook is written, but what ran is kept.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import io
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import contents
import nbformat
from contents import BOOK, BUILD, INDEX, METADATA, ROOT, RUNS, chapters, read_source, source, target
from nbclient import NotebookClient
from pages import alone, build
from PIL import Image

from lsa.show.live.widget import MIME

RECORD = BUILD / "notebooks.json"
VIEW = "application/vnd.jupyter.widget-view+json"

# One thread and a fixed hash seed: the order of a sum or of a set would show in the last digit of an output.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
GUARD = f"import sys; sys.path.append({str(Path(__file__).parent)!r})\nimport rounding_guard, sys\n"
GUARD += "rounding_guard.watch(get_ipython()); sys.path.pop(); del rounding_guard, sys"


def execute(path: Path) -> nbformat.NotebookNode:
    """The chapter at `path` as written, with the outputs of its cells."""
    notebook = read_source(path)
    if all(cell.cell_type == "markdown" for cell in notebook.cells):
        return notebook
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR", f"--IPKernelApp.exec_lines={GUARD}"],
        shutdown_kernel="immediate",  # interrupted gracefully, it would print where
    )
    client.execute(env={**os.environ, **ENVIRONMENT})
    notebook.metadata = nbformat.from_dict(METADATA)  # the kernel also reports versions of its own
    for data in (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])):
        if "image/png" in data:
            data["image/png"] = lighter(data["image/png"])
        if data.pop(VIEW, None) and MIME not in data:  # the view itself has no meaning without its kernel
            raise ValueError(f"{data['text/plain']}: of all widgets, pages can show live figures alone")
    return notebook


def lighter(png: str) -> str:
    """A drawing in base64, with as many colours as it needs: a third of its bytes."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    return png if picture.mode == "P" else base64.b64encode(small_png(picture.convert("RGB"))).decode()


def small_png(picture: Image.Image) -> bytes:
    with io.BytesIO() as small:
        picture.quantize(64, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
        return small.getvalue()


def run(names: list[str], check: bool = False) -> list[str]:
    """Execute chapters, two at a time, and keep their outputs, or compare them; returns those that failed."""
    failed: list[str] = []
    RUNS.mkdir(parents=True, exist_ok=True)

    def timed(name: str) -> tuple[nbformat.NotebookNode, float]:
        start = time.perf_counter()
        return execute(source(name)), time.perf_counter() - start

    with ThreadPoolExecutor(2) as pool:
        running = {pool.submit(timed, name): name for name in names}
        try:
            for future in as_completed(running):
                name = running[future]
                try:
                    done, seconds = future.result()
                    same = has_outputs(name, done)
                    if not check:
                        contents.write_whole(RUNS / f"{name}.ipynb", contents.as_text(done))
                        write_record(name)
                    elif not same:
                        failed.append(name)
                    print(f"{name}: {'the same' if same else 'other'} outputs, {seconds:.1f} s", flush=True)
                except Exception as error:
                    print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                    failed.append(name)
        except KeyboardInterrupt:
            print("Interrupted. The chapters that are finished need not run again.", file=sys.stderr)
            os._exit(130)  # without waiting for the others; a kernel ends when its parent is gone
    return failed


def has_outputs(name: str, done: nbformat.NotebookNode) -> bool:
    """Whether what is stored has the code and the outputs of `done`."""
    with contextlib.suppress(ValueError):
        new = contents.merge_outputs(read_source(source(name)), done)
        return contents.as_text(new) == contents.as_text(contents.with_outputs(name))
    return False


def write_notebooks(check: bool = False) -> list[str]:
    """Let Sphinx write the notebooks, and put those that differ in place; returns their names."""
    with alone():
        made = build("notebook")
        texts = {name: (made / f"{name}.ipynb").read_text(encoding="utf-8") for name in [*chapters(), INDEX]}
    stored = {path.stem: path.read_text(encoding="utf-8") for path in BOOK.glob("*.ipynb")}
    differ = [name for name, text in texts.items() if stored.get(name) != text]
    if not check:
        for name in differ:
            contents.write_whole(target(name), texts[name])
            print(f"{name}: its notebook written")
        for path in RUNS.glob("*.ipynb"):
            path.unlink()
    return differ


# ---- what need not be done again ----


def digest(start: str, paths: list[Path]) -> str:
    found = hashlib.sha256(start.encode())
    for path in paths:
        content = path.read_bytes() if path.exists() else b""
        found.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def package() -> list[Path]:
    return sorted(path for path in (ROOT / "lsa").rglob("*") if path.suffix in (".py", ".js", ".json"))


def fingerprint(name: str) -> str:
    """A hash of everything that decides what a chapter's outputs should be, and of the notebook as it is."""
    code = [cell.source for cell in read_source(source(name)).cells if cell.cell_type == "code"]
    data = [path for path in (ROOT / "benchmarks").glob("*.json") if path.name in "".join(code)]
    return digest(json.dumps(code), [target(name), Path(__file__), ROOT / "lock.txt", *package(), *data])


def fingerprint_of_all() -> str:
    """A hash of everything that decides what the notebooks should be, and of them as they are."""
    places = [ROOT.glob("_*.yml"), (BOOK / "source").glob("*"), BOOK.glob("*.ipynb"), RUNS.glob("*")]
    tools = (BOOK / "_tools").glob("*.py")
    return digest("", sorted(path for place in [*places, tools] for path in place) + package())


def read_record() -> dict[str, str]:
    """The fingerprints of the stored notebooks; of none, if the record is missing or was cut short."""
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def write_record(*names: str, **more: str) -> None:
    RECORD.parent.mkdir(exist_ok=True)
    record = {**read_record(), **{name: fingerprint(name) for name in names}, **more}
    contents.write_whole(RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")


def adopt(names: list[str]) -> None:
    """Take a stored notebook with the code of its source for up to date, if nothing is recorded of it."""
    for name in set(names) - set(read_record()):
        with contextlib.suppress(ValueError):
            contents.with_outputs(name)
            write_record(name)


def stale(names: list[str]) -> list[str]:
    record = read_record()
    return [name for name in names if record.get(name) != fingerprint(name)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the chapters and write their notebooks.")
    parser.add_argument("names", nargs="*", help="chapters, such as setup; all of them if none is named")
    parser.add_argument("--check", action="store_true", help="run all and compare to the byte; write nothing")
    parser.add_argument("--force", action="store_true", help="run even what has not changed")
    trust = "trust stored outputs of the same code, write no notebooks (for `make serve`)"
    parser.add_argument("--preview", action="store_true", help=trust)
    options = parser.parse_args(arguments)
    names = options.names or chapters()
    if unknown := sorted(set(names) - set(chapters())):
        parser.error(f"no such chapter: {', '.join(unknown)}; there are {', '.join(chapters())}")
    if options.preview:
        adopt(names)
    todo = names if options.check or options.force else stale(names)
    failed = run(todo, options.check)
    print(f"{len(names) - len(todo)} unchanged, {len(todo) - len(failed)} fine, {len(failed)} failed")
    if options.check:
        failed += write_notebooks(check=True)
    elif failed:
        print("No notebook is written before these run:", *failed, file=sys.stderr)
    elif not options.preview and read_record().get("all notebooks") != fingerprint_of_all():
        fresh = set(chapters()) - set(stale(chapters()))
        write_notebooks()
        write_record(*fresh)
        write_record(**{"all notebooks": fingerprint_of_all()})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
