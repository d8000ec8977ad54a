"""A stock Firefox, driven over WebDriver BiDi: Playwright drives only a Firefox of its own."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

WAIT = 60  # seconds


class Firefox:
    """One window, with the errors that its console said."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0
        self.complaints: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self._window = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result; what the console says meanwhile is kept."""
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=WAIT))
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] == "error":
                self.complaints.append(answer["params"]["text"])
            if answer.get("id") == self._sent:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['message']}")
                return answer["result"]

    def open(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self._window, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression that is a number, a text or a truth."""
        answer = self.call(
            "script.evaluate",
            expression=expression,
            target={"context": self._window},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + WAIT
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"not true within {WAIT} s: {expression}")
            time.sleep(0.2)


@contextmanager
def running(program: str, home: Path) -> Iterator[Firefox]:
    """Start Firefox with a profile of its own on a free port, and end it."""
    command = [program, "--headless", "--no-remote", "--profile", str(home)]
    process = subprocess.Popen(
        [*command, "--remote-debugging-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
    )
    assert process.stderr is not None
    try:
        address = next(
            match[1]
            for line in process.stderr
            if (match := re.search(r"WebDriver BiDi listening on (ws://\S+)", line))
        )
        with connect(f"{address}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=20)
        process.stderr.close()
