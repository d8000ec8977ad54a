"""The lab's server as a process of its own: started, watched from outside, ended by its number.

What it uses is read from Linux's /proc, so that watching costs the server nothing.
"""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[1]
TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds, the grain of CPU times in /proc
START_SECONDS = 30  # how long a server may take to answer
END_SECONDS = 10  # how long it may take to end when asked to


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the server had used, or held, at one moment."""

    cpu: float  # seconds of processor time since its start, all threads
    resident: float  # MB of memory in use, shared libraries included
    proportional: float  # MB, where memory shared with other programs counts as their part of it
    threads: int
    files: int  # open files and sockets


class Server:
    """A server of the lab on this machine, ended when its `with` block ends."""

    def __init__(
        self,
        log: Path,
        *,
        port: int = 0,
        limit: str = "",
        module: str = "streamlit",
        options: dict[str, str] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            log: where its output goes; a second start appends to it.
            port: 0 for any free one.
            module: what runs the app, with Streamlit's own command line.
            limit: options of the shell's ulimit, such as "-f 0" for a disk that takes nothing.
            options: Streamlit's, on top of those that keep it on this machine.
            environment: variables on top of this process's own.
        """
        self.log = log
        self.port = port or _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        settings = {
            "server.port": str(self.port),
            "server.address": "127.0.0.1",
            "server.headless": "true",
            "server.fileWatcherType": "none",
            **(options or {}),
        }
        self._command = [sys.executable, "-m", module, "run", "streamlit_app.py"]
        self._command += [f"--{name}={value}" for name, value in settings.items()]
        if limit:
            self._command = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *self._command]
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it and wait until it answers."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.stop()

    def start(self) -> None:
        """Start the server, and wait until it answers.

        Raises:
            RuntimeError: with its output, if it ends or does not answer.
        """
        # A pipe through cat: a limit on the size of files must not silence the log.
        with self.log.open("ab") as output:
            reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=output)
        assert reader.stdin is not None
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=self._environment,
            stdout=reader.stdin,
            stderr=subprocess.STDOUT,
        )
        reader.stdin.close()
        self._reader = reader
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"the server did not answer:\n{self.said()}")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        if self._process is None:
            raise RuntimeError("the server must be started first")
        return self._process

    def kill(self) -> None:
        """End it at once, as a crash would: it gets no chance to say goodbye."""
        self.process.kill()
        self._wait()

    def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        self._wait()

    def said(self) -> str:
        """Return its output so far."""
        return self.log.read_text(errors="replace")

    def usage(self) -> Usage:
        """Read what the process uses.

        Raises:
            OSError: where there is no /proc, or the process has ended.
        """
        folder = Path(f"/proc/{self.process.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        status = _sizes(folder / "status")
        return Usage(
            cpu=(int(fields[11]) + int(fields[12])) * TICK,  # in user code, and in the kernel
            resident=status["VmRSS"] / 1024,
            proportional=_sizes(folder / "smaps_rollup")["Pss"] / 1024,
            threads=status["Threads"],
            files=len(list((folder / "fd").iterdir())),
        )

    def address_space(self) -> int:
        """Return how many bytes of addresses the process has reserved, used or not."""
        return _sizes(Path(f"/proc/{self.process.pid}/status"))["VmSize"] * 1024

    def _wait(self) -> None:
        assert self._process is not None
        try:
            self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=END_SECONDS)
        self._reader.wait(timeout=END_SECONDS)
        self._process = None


def machine_cpu() -> float:
    """Return the processor time all programs of the machine have used, in seconds."""
    user, nice, system, _idle, _io, irq, soft, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + irq + soft + steal) * TICK


def _sizes(path: Path) -> dict[str, int]:
    """Read lines such as "Pss: 1234 kB"; those without a number are left out."""
    lines = (line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
    words = {name: rest.split() for name, rest in lines}
    return {name: int(rest[0]) for name, rest in words.items() if rest and rest[0].isdigit()}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
