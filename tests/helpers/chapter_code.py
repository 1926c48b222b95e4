"""The functions that a chapter defines: what the tests check is the very formula that stands on the page."""

import ast
from types import SimpleNamespace

import execute


def _short_name(node: ast.stmt, modules: set[str]) -> bool:
    """Whether it is `Layer = lsa.LinearSelfAttention` or the like: a name for something imported."""
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, ast.Attribute):
        return False
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id in modules


def functions(name: str) -> SimpleNamespace:
    """The imports, functions and short names of a chapter, run in order, and no more."""
    kept, modules = [], set()
    for cell in execute.read_source(execute.source(name)).cells:
        for node in ast.parse(cell.source).body if cell.cell_type == "code" else ():
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
            elif not isinstance(node, ast.FunctionDef) and not _short_name(node, modules):
                continue
            kept.append(node)
    namespace: dict = {}
    exec(compile(ast.Module(kept, []), execute.source(name), "exec"), namespace)
    return SimpleNamespace(**namespace)
