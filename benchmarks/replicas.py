"""Several servers of the lab side by side, as behind a proxy that keeps each visitor on one."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from benchmarks.server import Server, Usage


class Replicas:
    """Equal servers on this machine, ended when the `with` block ends; mostly there is one."""

    def __init__(self, folder: Path, n: int = 1) -> None:
        """Prepare n servers whose logs go into the folder."""
        self.servers = [Server(folder / f"log{number}") for number in range(n)]
        self._running = ExitStack()

    def __enter__(self) -> Self:
        """Start them all and wait until they answer."""
        with ExitStack() as started:
            for server in self.servers:
                started.enter_context(server)
            self._running = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._running.close()

    def address(self, visitor: int) -> str:
        """Return the address of the server that this visitor, counted from 0, is kept on."""
        return self.servers[visitor % len(self.servers)].address

    def usage(self) -> Usage:
        """Read what all of them use together.

        Raises:
            OSError: where there is no /proc, or one has ended.
        """
        used = [server.usage() for server in self.servers]
        return Usage(
            cpu=sum(usage.cpu for usage in used),
            resident=sum(usage.resident for usage in used),
            proportional=sum(usage.proportional for usage in used),
            threads=sum(usage.threads for usage in used),
            files=sum(usage.files for usage in used),
        )
