"""Show the book on localhost, and build it again whenever a file is saved.

    python book/_tools/serve.py [port]

Stored notebooks with the code of their source count as up to date when this starts; after that, the chapters
that changed are run again. A failure is shown, and the last good pages stay.
"""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
import time
from pathlib import Path

import trouble  # noqa: F401  Ctrl-C and a port in use end in a line

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "_build" / "html"
WATCHED = ["_*.yml", "book/source/*", "book/_static/**/*", "book/_tools/*.py", "lsa/**/*.py", "lsa/**/*.js"]
NOTEBOOKS, BOOK = ([sys.executable, f"book/_tools/{name}.py"] for name in ("execute", "pages"))


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # the browser asks again after each build
        super().end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


def state() -> dict[Path, int]:
    """When each watched file was last written."""
    found = (path for pattern in WATCHED for path in ROOT.glob(pattern) if not path.name.startswith("."))
    return {path: path.stat().st_mtime_ns for path in found if path.exists()}


def build(*options: str) -> None:
    for command in ([*NOTEBOOKS, *options], BOOK):
        if subprocess.run(command, cwd=ROOT).returncode:
            print("The build failed; see above. Waiting for the next change.", flush=True)
            return
    print("Built. Reload the page.", flush=True)


def main(arguments: list[str]) -> None:
    port = int(arguments[0]) if arguments else 8000
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=PAGES))
    print(f"The book: http://localhost:{server.server_port}/  (stop with Ctrl+C)", flush=True)
    answering = threading.Thread(target=server.serve_forever, daemon=True)
    seen: dict[Path, int] = {}
    while True:
        if not answering.is_alive() and (PAGES / "index.html").exists():
            answering.start()  # a browser that asked earlier has waited for the first pages
        if (now := state()) != seen:
            build(*([] if seen else ["--adopt"]))
            seen = now
        time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1:])
