"""One lesson: a class joins, works for a while and leaves, and what that took is measured."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.replicas import Replicas
from benchmarks.server import machine_cpu
from benchmarks.students import LostError, Student, page_name
from pages import PAGES

WARM_UP_SECONDS = 20  # at most, for the first long computation of a page
LAST_SEED = 99  # of the slider of that name on the pages that compute long


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The clock, and the processor time used up to then, all in seconds."""

    clock: float
    server: float  # all of them
    students: float  # this process
    machine: float  # all programs

    @staticmethod
    def now(servers: Replicas) -> "Moment":
        """Read them."""
        return Moment(
            clock=time.perf_counter(),
            server=servers.usage().cpu,
            students=time.process_time(),
            machine=machine_cpu(),
        )


@dataclass(kw_only=True)
class Lesson:
    """What a class has gone through so far."""

    servers: Replicas
    pages: Sequence[str]  # each student's
    busy: int = 0  # how many of them, the first ones, start one long computation after the other
    seed: int = 0  # fixes what the students do
    beat: float = 2.0  # seconds from one move of a student to the next
    students: list[Student] = field(default_factory=list)  # those who got their page
    joined: float = 0.0  # seconds until the last of them had it
    reruns: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # s, by page
    missed: int = 0  # beats that passed while the answer to the one before was awaited
    long_runs: int = 0  # long computations followed to their end
    late: list[float] = field(default_factory=list)  # s this process woke up later than asked
    charts: list[float] = field(default_factory=list)  # s until the first chart of a rerun came
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def polls(self) -> list[float]:
        """Seconds that each run of a live fragment took."""
        return [seconds for student in self.students for seconds in student.polls]

    @property
    def ends_lost(self) -> int:
        """How often the end of a page's run did not reach the student."""
        return sum(student.ends_lost for student in self.students)

    async def join(self) -> None:
        """Let all of them open their page at once, and go past its first question."""
        self.students = [
            Student(self.servers.address(i), page, seed=self.seed * 1000 + i)
            for i, page in enumerate(self.pages)
        ]
        start = time.perf_counter()
        there = await asyncio.gather(*(self._safely(s, s.arrive()) for s in self.students))
        self.joined = time.perf_counter() - start
        self.students = [s for s, here in zip(self.students, there, strict=True) if here]
        await asyncio.gather(*(self._safely(s, skip_prediction(s)) for s in self.students))

    async def work(self, seconds: float) -> None:
        """Let the busy ones start the next computation as one ends, the others move sliders."""
        until = time.perf_counter() + seconds
        busy = self.students[: self.busy]
        working = [
            # Seeds of their own, so that no computation is another's.
            self._repeat(student, range(1 + i, LAST_SEED, len(busy)), until)
            for i, student in enumerate(busy)
        ]
        working += [self._tweak(student, until) for student in self.students[self.busy :]]
        await asyncio.gather(
            self._watch_lateness(until),
            *(self._safely(s, work) for s, work in zip(self.students, working, strict=True)),
        )

    async def move_once(self) -> None:
        """Let everyone move a slider at the same moment."""
        await asyncio.gather(*(self._safely(s, self._move(s)) for s in self.students))

    async def leave(self) -> None:
        """Let everyone close their tab."""
        await asyncio.gather(*(student.leave() for student in self.students))

    async def _move(self, student: Student) -> None:
        run = await student.move()
        self.reruns[student.page].append(run.seconds)
        if run.chart is not None:
            self.charts.append(run.chart)

    async def _tweak(self, student: Student, until: float) -> None:
        clock = time.perf_counter
        due = clock() + student.rng.random() * self.beat
        while due < until:
            await asyncio.sleep(max(0.0, due - clock()))
            await self._move(student)
            due += self.beat
            while due < clock():
                due += self.beat
                self.missed += 1

    async def _repeat(self, student: Student, seeds: range, until: float) -> None:
        for seed in seeds:
            await student.set("seed", float(seed))
            while student.live and time.perf_counter() < until:
                await asyncio.sleep(0.02)
            if time.perf_counter() >= until:
                return
            self.long_runs += 1

    async def _safely(self, student: Student, activity: Awaitable[object]) -> bool:
        """Wait for it; if the server lets the student down, note how and return False."""
        try:
            await activity
        except (LostError, OSError, KeyError) as error:
            self.errors[f"{student.page}: {error}"] += 1
            return False
        finally:
            self.errors.update(f"{student.page}: {words}" for words in student.complaints)
            student.complaints.clear()
        return True

    async def _watch_lateness(self, until: float) -> None:
        """Note how late this process wakes up: what the times hold of its own slowness."""
        while time.perf_counter() < until:
            due = time.perf_counter() + 0.01
            await asyncio.sleep(0.01)
            self.late.append(time.perf_counter() - due)


async def skip_prediction(student: Student) -> None:
    """Go past the question that a page asks before it shows anything."""
    for widget in student.screen.widgets:
        if widget.kind == "button" and widget.key.endswith("_skip"):
            await student.press(widget.key)
            return


def places(n: int, busy: Mapping[str, int], light: Sequence[str]) -> list[str]:
    """Return the page of each of n students: the busy ones first, the others spread evenly.

    >>> places(5, {"recall_training": 2}, ["mechanism", "mask_leak"])
    ['recall_training', 'recall_training', 'mechanism', 'mask_leak', 'mechanism']
    """
    first = [name for name, many in busy.items() for _ in range(many)]
    return (first + [light[i % len(light)] for i in range(n)])[:n]


async def warm_up(servers: Replicas) -> list[str]:
    """Visit every page and wait for what it starts, so that all is imported and compiled.

    Returns:
        The names of the light pages, on which a move starts nothing that goes on by itself.
    """
    found = [await _light_pages(server.address) for server in servers.servers]
    return found[0]


async def _light_pages(address: str) -> list[str]:
    light = []
    for name in (page_name(page.path) for page in PAGES):
        async with Student(address, name) as student:
            await skip_prediction(student)
            if not student.live:
                await student.move()
            if not student.live:
                light.append(name)
            end = time.perf_counter() + WARM_UP_SECONDS
            while student.live and time.perf_counter() < end:
                await asyncio.sleep(0.1)
    return light
