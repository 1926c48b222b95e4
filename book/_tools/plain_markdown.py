"""What Sphinx has made of a chapter, as plain Markdown with a little HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import yaml
from contents import INDEX, ROOT
from docutils import nodes
from sphinx import addnodes
from sphinx.builders import Builder
from sphinx.util.logging import getLogger

from lsa.show.figures import PALETTE

FILE = "book/_tools/plain_markdown.py"
LIKE = {"remark": PALETTE["layer"], "experiment": PALETTE["experiment"], "exercise": PALETTE["gd"]}
BOXES = {kind: f"{look['both']} {look['line']}" for kind, look in LIKE.items()}
# The colour and line of each actor. One colour for light and dark: 4.3 : 1 or more against either.
ACTORS = {name: (look.get("both", ""), look["line"]) for name, look in PALETTE.items() if "dash" in look}
BOX = "border-left: 4px {1} {0}; padding: 0.1em 1em; margin: 1em 0"
ASIDE = "font-size: 0.9em; padding-left: 1em; margin-left: 40%; border-left: 1px solid #777777"
MEANT = r"([\\`*$]|<(?=[\w/!])|(?<!\w)_|_(?!\w)|\](?=[(:]))"  # what Markdown would not take as it is
AROUND = {"emphasis": "*{}*", "strong": "**{}**", "literal_strong": "**`{}`**"}
AROUND |= {"inline": "{}", "target": "{}", "subscript": "<sub>{}</sub>", "superscript": "<sup>{}</sup>"}


class Markdown:
    """The plain form of the nodes of one chapter: a block by the method with the name of its class."""

    def __init__(self, builder: Builder, docname: str):
        self.builder, self.env, self.docname = builder, builder.env, docname
        self.level = 0  # of the section that is being written

    # ---- numbers and places ----

    def number(self, kind: str, node: nodes.Element) -> str:
        numbers = self.env.toc_fignumbers.get(self.docname, {}).get(kind, {})
        return ".".join(map(str, numbers.get(node["ids"][0], ())))

    def section_number(self, node: nodes.section) -> str:
        place = "" if self.level == 1 else f"#{node['ids'][0]}"
        found = self.env.toc_secnumbers.get(self.docname, {}).get(place)
        return f"{'.'.join(map(str, found))}. " if found else ""

    def named(self, node: nodes.Element) -> str:
        kind = node.get("realtype", "exercise")
        return f"{kind.title()} {self.number(kind, node)}".strip()

    def place(self, node: nodes.Element) -> str:
        """Where a reference leads: to a label or the key of a citation, not to Sphinx's numbers for them."""
        file, sharp, label = node.get("refuri", f"#{node.get('refid')}").partition("#")
        return file + sharp + self.builder.keys.get(label, label.removeprefix("equation-"))

    def title_of(self, docname: str) -> str:
        return self.words(self.env.titles[docname])

    def link(self, docname: str) -> str:
        return f"[{self.title_of(docname)}]({self.builder.get_relative_uri(self.docname, docname)})"

    def way(self) -> str:
        """The line below a title: the chapter before, the contents, the chapter after."""
        _, before, after = self.builder.relations[self.docname]
        links = [f"← {self.link(before)}"] if before else []
        links += [f"[contents]({INDEX}.ipynb)", *([f"{self.link(after)} →"] if after else [])]
        return " · ".join(links)

    # ---- blocks ----

    def blocks(self, content: Iterable[nodes.Element], between: str = "\n\n") -> str:
        return between.join(filter(None, map(self.block, content)))

    def block(self, node: nodes.Element) -> str:
        if "countertype" in node:  # theorems and their like
            return self.box(node["realtype"], self.named(node) + self.words(node[0]), node, node[1])
        written = getattr(self, type(node).__name__, self.unknown)
        return written(node)

    def unknown(self, node: nodes.Element) -> str:
        kind = type(node).__name__
        getLogger(__name__).warning("no plain form is known of <%s>: see %s", kind, FILE, location=node)
        return node.astext()

    def box(self, kind: str, title: str, node: nodes.Element, content: Iterable[nodes.Element]) -> str:
        """A quotation, which has a line at its left everywhere, even where its style is dropped."""
        style = BOX.format(*BOXES.get(kind, "#777777 solid").split())
        body = self.blocks(content)
        if "dropdown" in node["classes"]:
            body = f"<details><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        elif title:
            body = f"**{title}**\n\n{body}"
        place = f' id="{node["label"]}"' if "label" in node else ""
        return f'<blockquote{place} class="lsa-{kind}" style="{style}">\n\n{body}\n\n</blockquote>'

    def proof_node(self, node: nodes.Element) -> str:
        (proof,) = node
        first = proof[0][0]  # sphinx-proof has put "Proof. " before the first word
        proof[0].replace(first, nodes.Text(first.removeprefix("Proof. ")))
        return self.box("proof", "Proof", proof, proof)

    def admonition(self, node: nodes.Element) -> str:
        return self.box("admonition", self.words(node[0]), node, node[1:])

    def sidebar(self, node: nodes.Element) -> str:
        return f'<aside style="{ASIDE}">\n\n{self.blocks(node[1:])}\n\n</aside>'

    def target(self, node: nodes.Element) -> str:
        label = node.get("refid", "equation-")
        return "" if label.startswith("equation-") else anchor(label)

    def paragraph(self, node: nodes.Element) -> str:
        return re.sub(r"^(\d+(?=[.)] )|(?=[-+#>] ))", r"\1\\", self.words(node), flags=re.M)  # it is no list

    def math_block(self, node: nodes.Element) -> str:
        if not node.get("label"):
            return display(node.astext(), "")
        return f"{anchor(node['label'])}\n\n{display(node.astext(), self.number('displaymath', node))}"

    def literal_block(self, node: nodes.Element) -> str:
        return f"```{node.get('language', '').replace('default', '')}\n{node.astext()}\n```"

    def bullet_list(self, node: nodes.Element) -> str:
        return self.items(node, ["-"] * len(node))

    def enumerated_list(self, node: nodes.Element) -> str:
        return self.items(node, [f"{i}." for i, _ in enumerate(node, node.get("start", 1))])

    def items(self, node: nodes.Element, marks: list[str]) -> str:
        texts = [f"{mark} {self.blocks(item)}" for mark, item in zip(marks, node, strict=True)]
        tight = all(len(item) == 1 for item in node)
        return ("\n" if tight else "\n\n").join(set_in(text, len(marks[0]) + 1) for text in texts)

    def table(self, node: nodes.Element) -> str:
        rows = [[self.blocks(entry).replace("|", r"\|") for entry in row] for row in node.findall(nodes.row)]
        head, *body = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([head, "|" + "---|" * len(rows[0]), *body])

    def citation(self, node: nodes.Element) -> str:
        text = " ".join(self.blocks(node[1:]).split())
        return f'- <span id="{self.builder.keys[node["ids"][0]]}"></span>{text}'

    def container(self, node: nodes.Element) -> str:
        return self.blocks(node, "\n")  # the literature

    def compound(self, node: nodes.Element) -> str:
        return self.blocks(node)

    def desc(self, node: nodes.Element) -> str:  # of a function or a class
        signature, content = node
        place = f'<span id="{signature["ids"][0]}"></span>' if signature["ids"] else ""
        return set_in(f"- {place}**`{signature.astext()}`**\n\n{self.blocks(content)}".rstrip(), 2)

    def index(self, node: nodes.Element) -> str:
        return ""

    field_list = field = field_body = compound
    field_name = comment = index

    # ---- words ----

    def words(self, content: Iterable[nodes.Node]) -> str:
        return "".join(map(self.word, content))

    def word(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return re.sub(MEANT, r"\\\1", node.astext())
        if isinstance(node, nodes.math):
            tex = re.sub(r"\s+", " ", expand(node.astext()).strip())
            return f"${tex} $" if tex.endswith("\\") else f"${tex}$"  # "\ " is a space
        if isinstance(node, nodes.literal):
            return f"`{node.astext()}`"
        said = self.words(node)
        if isinstance(node, nodes.reference | addnodes.number_reference):
            return f"[{said}]({self.place(node)})"
        for colour, line in [ACTORS[each[4:]] for each in node["classes"] if each.startswith("lsa-")]:
            style = f"border-bottom: 2px {line}" + (f" {colour}; color: {colour}" if colour else "")
            return f'<span style="{style}">{said}</span>'
        around = AROUND.get(type(node).__name__)
        return around.format(said) if around else self.unknown(node)


def anchor(label: str) -> str:
    return f'<div id="{label}"></div>'


def set_in(text: str, by: int) -> str:
    """All lines but the first."""
    return re.sub(r"\n(?!\n)", "\n" + " " * by, text)


# ---- formulas: without the macros of _config.yml, which only the pages know ----


@cache
def macros() -> dict[str, tuple[str, int]]:
    r"""The macros and how many arguments each has; an actor's is its colour itself, not a \class."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    found = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    pairs = {name: tuple(each) if isinstance(each, list) else (each, 0) for name, each in found.items()}
    for name, (colour, _) in ACTORS.items():
        pairs[name] = (rf"\textcolor{{{colour}}}{{#1}}" if colour else "{#1}", 1)
    return pairs


def expand(tex: str) -> str:
    """A formula without the book's macros."""
    for name, (meaning, count) in macros().items():
        while found := re.search(rf"\\{name}(?![A-Za-z])", tex):
            rest, text = tex[found.end() :], meaning
            for i in range(1, count + 1):
                given, rest = _argument(rest)
                text = text.replace(f"#{i}", given)
            tex = tex[: found.start()] + text + rest
    return tex


def _argument(tex: str) -> tuple[str, str]:
    """The first argument in a formula, without its braces, and what follows it."""
    tex = tex.lstrip()
    if not tex.startswith("{"):
        return tex[:1], tex[1:]
    depth = 0
    for i, sign in enumerate(tex):
        if i == 0 or tex[i - 1] != "\\":
            depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0:
            return tex[1:i], tex[i + 1 :]
    raise ValueError(f"a brace is not closed in the formula {tex}")


def display(formula: str, number: str) -> str:
    """A formula on lines of its own, with its number."""
    body = expand(formula).strip()
    if r"\\" in body and not body.startswith(r"\begin{"):
        body = f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"  # Sphinx does the same
    return f"$$\n{body} \\tag{{{number}}}\n$$" if number else f"$$\n{body}\n$$"
