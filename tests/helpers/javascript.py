"""The mathematics of the live figures, run by node."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from helpers import ROOT

MATH = ROOT / "js" / "src" / "math"
NODE = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")


def node(code: str, given=None):
    """What a module prints, as JSON; `given` is its `given`."""
    read = "let given = ''; for await (const part of process.stdin) given += part; given = JSON.parse(given);"
    command = [NODE, "--input-type=module", "-e", f"{read}\n{code}"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, cwd=MATH)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
