"""Running a check in a process of its own, where nothing else allocates and tracing is safe."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def apart(check: Callable[[], None]) -> None:
    """Run a module's function in a new process with one thread, also for matrix products."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import {check.__module__} as m; m.{check.__name__}()"],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
