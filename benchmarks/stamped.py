"""The lab's server, which also writes down how long each run of a page took, and with what.

    python -m benchmarks.stamped run streamlit_app.py

Each run becomes one line of JSON in the file that the environment variable STAMPS names. Nothing
but clocks is put around Streamlit's own functions.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit import dataframe_util
from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.web import cli

from benchmarks.screen import CHARTS


class Stamps:
    """The clocks of the run in progress: one visitor at a time, or they mix."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.begin()

    def begin(self) -> None:
        """Set the clocks to zero."""
        self.start = time.perf_counter()
        self.converting = 0.0  # seconds spent on turning frames into Arrow's bytes
        self.at_chart: dict[str, float] | None = None

    def chart(self) -> None:
        """Take note that the run's first chart has been handed over."""
        if self.at_chart is None:
            self.at_chart = self.so_far()

    def so_far(self) -> dict[str, float]:
        """Return the times since the run began, in milliseconds."""
        return {
            "script": (time.perf_counter() - self.start) * 1000,
            "converting": self.converting * 1000,
        }

    def end(self) -> None:
        """Write the run down."""
        with self.path.open("a") as file:
            file.write(json.dumps({"whole": self.so_far(), "chart": self.at_chart}) + "\n")


def watch(stamps: Stamps) -> None:
    """Put the clocks around what they time."""
    run = script_runner.ScriptRunner._run_script
    convert = dataframe_util.convert_anything_to_arrow_bytes
    enqueue = ScriptRunContext.enqueue

    def timed_run(self: Any, data: Any) -> None:  # noqa: ANN401
        stamps.begin()
        try:
            run(self, data)
        finally:
            stamps.end()

    def timed_convert(*args: Any, **options: Any) -> bytes:  # noqa: ANN401
        start = time.perf_counter()
        try:
            return convert(*args, **options)
        finally:
            stamps.converting += time.perf_counter() - start

    def timed_enqueue(self: ScriptRunContext, message: Any) -> None:  # noqa: ANN401
        enqueue(self, message)
        if message.delta.new_element.WhichOneof("type") in CHARTS:
            stamps.chart()

    replaced: dict[str, tuple[Any, Callable[..., Any]]] = {
        "_run_script": (script_runner.ScriptRunner, timed_run),
        "convert_anything_to_arrow_bytes": (dataframe_util, timed_convert),
        "enqueue": (ScriptRunContext, timed_enqueue),
    }
    for name, (owner, function) in replaced.items():
        setattr(owner, name, function)


if __name__ == "__main__":
    watch(Stamps(Path(os.environ["STAMPS"])))
    cli.main(prog_name="streamlit")
