"""A class at work: many students at once, each moving a slider every two seconds.

    python -m benchmarks.load --students 1 30 60 100 --seconds 30
    python -m benchmarks.load --students 60 --training 4
    python -m benchmarks.load --students 60 --training 4 --processes 2
    python -m benchmarks.load --students 60 --waves 10

Each line of the first kind of table has a server of its own, warmed up by a visit to every page.
The students are spread over the pages that answer at once, but for those who are told to train,
ablate or measure: they start the next computation as one ends. With --waves, class after class
comes to one server and goes, and each line says what it holds afterwards.

The students speak from this process and so take processor time of the same machine; it stands
beside the server's, and beside what other programs took meanwhile. Of a rerun, up to 60 ms are the
pause after its first chart, in which nothing is computed: see `pages.parts.moving.paint_first`.
"""

import argparse
import asyncio
import math
import resource
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.lesson import Lesson, Moment, places, warm_up
from benchmarks.replicas import Replicas
from benchmarks.report import Row, machine, markdown, write

FILES = 8192  # this process holds a socket for every student
BUSY = {  # what a student is busy with -> its page
    "training": "recall_training",
    "ablating": "ablation",
    "measuring": "context_cost",
}
STORED = 128  # visits that Streamlit keeps for two minutes, for students who come back


async def lesson_row(options: argparse.Namespace, students: int) -> tuple[Row, Lesson]:
    """Hold one lesson on a server of its own."""
    busy = {page: getattr(options, name) for name, page in BUSY.items()}
    with (
        tempfile.TemporaryDirectory() as folder,
        Replicas(Path(folder), options.processes) as servers,
    ):
        light = await warm_up(servers)
        empty = servers.usage()
        pages = places(students, busy, light)
        lesson = Lesson(servers=servers, pages=pages, busy=min(sum(busy.values()), students))
        await lesson.join()
        await asyncio.sleep(1)  # let the pages do what they do once they are drawn
        full = servers.usage()
        start = Moment.now(servers)
        await lesson.work(options.seconds)
        end = Moment.now(servers)
        held = servers.usage()
        await lesson.leave()
    seconds = end.clock - start.clock
    used, own = end.server - start.server, end.students - start.students
    reruns = [time for times in lesson.reruns.values() for time in times]
    row: Row = {
        "Students": students,
        "Processes": options.processes,
        **{name.capitalize(): busy[page] for name, page in BUSY.items()},
        "All joined (s)": lesson.joined,
        "Reruns": len(reruns),
        "p50 (ms)": ms(reruns, 50),
        "p95 (ms)": ms(reruns, 95),
        "Longest (ms)": ms(reruns, 100),
        "First chart p50 (ms)": ms(lesson.charts, 50),
        "First chart p95 (ms)": ms(lesson.charts, 95),
        "Beats missed": lesson.missed,
        "Long runs": lesson.long_runs,
        "Live view p95 (ms)": ms(lesson.polls, 95),
        "Server CPU per rerun (ms)": used / len(reruns) * 1000 if reruns else math.nan,
        "Server (cores)": used / seconds,
        "Students (cores)": own / seconds,
        "Others (cores)": (end.machine - start.machine - used - own) / seconds,
        "Students late p95 (ms)": ms(lesson.late, 95),
        "Server memory (MB)": held.resident,
        "of it its own (MB)": held.proportional,
        "Memory per session (MB)": (full.resident - empty.resident) / students,
        "Ends lost": lesson.ends_lost,
        "Errors": lesson.errors.total(),
    }
    return row, lesson


def page_rows(lessons: list[Lesson]) -> list[Row]:
    """Return what a rerun took on each page, in the largest of the lessons."""
    reruns = max(lessons, key=lambda lesson: len(lesson.pages)).reruns
    return [
        {
            "Page": page,
            "Reruns": len(times),
            "p50 (ms)": ms(times, 50),
            "p95 (ms)": ms(times, 95),
            "Longest (ms)": ms(times, 100),
        }
        for page, times in sorted(reruns.items())
    ]


async def wave_rows(options: argparse.Namespace, students: int) -> tuple[list[Row], Counter[str]]:
    """Let class after class come to one server, move three sliders each and go.

    Unless fresh moves are asked for, every class repeats those of the first, so that what the
    caches take in is not mistaken for something left behind by those who went.
    """
    rows: list[Row] = []
    errors: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        Replicas(Path(folder), options.processes) as servers,
    ):
        light = await warm_up(servers)
        for wave in range(options.waves):
            seed = wave if options.fresh else 0
            lesson = Lesson(servers=servers, pages=places(students, {}, light), seed=seed)
            await lesson.join()
            for _ in range(3):
                await lesson.move_once()
            full = servers.usage()
            await lesson.leave()
            await asyncio.sleep(1)
            left = servers.usage()
            errors += lesson.errors
            rows.append(
                {
                    "Sessions so far": (wave + 1) * students,
                    "Memory with them (MB)": full.resident,
                    "Memory without (MB)": left.resident,
                    "of it its own (MB)": left.proportional,
                    "Threads": left.threads,
                    "Open files": left.files,
                    "Errors": lesson.errors.total(),
                }
            )
    return rows, errors


def growth(rows: list[Row]) -> str:
    """Fit what each session leaves behind, once as many are stored as ever will be."""
    later = [row for row in rows if int(row["Sessions so far"]) > STORED]
    if len(later) < 4:
        return "Too few waves to fit a growth."
    sessions = np.array([float(row["Sessions so far"]) for row in later])
    memory = np.array([float(row["Memory without (MB)"]) for row in later]) * 1024
    (slope, _), covariance = np.polyfit(sessions, memory, 1, cov=True)
    return (
        f"Growth after the first {STORED} sessions: {slope:.1f} ± "
        f"{2 * math.sqrt(covariance[0, 0]):.1f} kB for each session that came and went "
        f"(least squares over {len(later)} waves, two standard errors)."
    )


def ms(seconds: list[float], percent: float) -> float:
    """Return a percentile in milliseconds; NaN of nothing."""
    return float(np.percentile(seconds, percent)) * 1000 if seconds else math.nan


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--students", type=int, nargs="+", default=[1, 30, 60, 100])
    parser.add_argument("--seconds", type=float, default=30.0, help="of work in each lesson")
    for name, page in BUSY.items():
        parser.add_argument(f"--{name}", type=int, default=0, help=f"students busy on {page}")
    parser.add_argument("--processes", type=int, default=1, help="servers that share the students")
    parser.add_argument("--waves", type=int, default=0, help="classes that come and go")
    parser.add_argument("--fresh", action="store_true", help="new moves in every wave")
    parser.add_argument("--write", type=Path, nargs="+", default=[], help=".md and .csv files")
    return parser.parse_args(arguments)


async def run(options: argparse.Namespace) -> None:
    """Do what the command line asks."""
    errors: Counter[str] = Counter()
    notes = [machine("streamlit", "numpy", "altair", "pandas")]
    tables: list[list[Row]] = []
    if options.waves:
        rows, errors = await wave_rows(options, options.students[-1])
        notes.append(growth(rows))
        tables.append(rows)
    else:
        rows, lessons = [], []
        for students in options.students:
            row, lesson = await lesson_row(options, students)
            rows.append(row)
            lessons.append(lesson)
            errors += lesson.errors
        tables += [rows, page_rows(lessons)]
    print("\n\n".join([*map(markdown, tables), *notes]))
    for words, times in errors.most_common(10):
        print(f"{times} × {words}")
    for path in options.write:
        write(path, rows, [*map(markdown, tables[1:]), *notes])


def main() -> None:
    """Run from the command line."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    asyncio.run(run(parse()))


if __name__ == "__main__":
    main()
