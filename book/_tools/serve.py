"""Show the book on localhost, and build it again whenever a file is saved.

    python book/_tools/serve.py [port]

Only the chapters that changed are run again. A failure is shown, and the last good pages stay.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "_build" / "html"
WATCHED = ["_*.yml", "book/source/*", "book/_static/*", "book/_tools/*.py", "lsa/*.py"]
BIN = Path(sys.executable).parent
COMMANDS = [  # what `make notebooks` and `make book` run
    [BIN / "python", "book/_tools/execute.py"],
    [BIN / "jupyter-book", "build", ".", "-n", "-W", "--keep-going", "--quiet"],
]


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")  # the browser asks again after each build
        super().end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


def state() -> dict[Path, int]:
    """When each watched file was last written."""
    return {path: path.stat().st_mtime_ns for pattern in WATCHED for path in ROOT.glob(pattern)}


def build() -> None:
    for command in COMMANDS:
        if subprocess.run(command, cwd=ROOT).returncode:
            print("The build failed; see above. Waiting for the next change.", flush=True)
            return
    print("Built. Reload the page.", flush=True)


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    PAGES.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=PAGES))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"The book: http://localhost:{port}/  (stop with Ctrl+C)", flush=True)
    seen: dict[Path, int] = {}
    while True:
        if (now := state()) != seen:
            seen = now
            build()
        time.sleep(0.5)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
