"""A series of training runs, one after another, with a report after each checkpoint."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

S = TypeVar("S", bound="RunSettings")
R = TypeVar("R")
Result = TypeVar("Result", bound="Trained")


class RunSettings(Protocol):
    """What determines one run, of whatever model; equal settings give equal runs."""

    @property
    def n_steps(self) -> int:
        """Training steps of the whole run."""


class AtStep(Protocol):
    """A checkpoint, of whatever model."""

    @property
    def step(self) -> int:
        """Training steps taken."""


class Trained(Protocol):
    """A trained model, of whatever kind."""

    @property
    def checkpoints(self) -> Sequence[AtStep]:
        """At least the one of step 0."""


@dataclass(frozen=True, kw_only=True)
class SeriesStep(Generic[S, R]):
    """One report of a series of runs: a checkpoint passed, or a run finished."""

    n_done: int  # runs finished
    n_runs: int  # runs in the series
    settings: S  # of the run this is about
    step: int  # training steps that run has taken
    run: R | None  # the run with its scores, if this report is its last
    checkpoint: AtStep | None = None  # the checkpoint passed, if it is not


def series_steps(
    runs: Iterable[S],
    train_pieces: Callable[[S], Generator[AtStep | None, None, Result]],
    score_run: Callable[[Result], R],
) -> Generator[SeriesStep[S, R] | None, None, None]:
    """Train and score these runs one after another.

    A report comes after every checkpoint, and None in between, wherever others may have a turn. A
    run that diverges is scored as it stood at its last good checkpoint, and says so.

    Args:
        runs: the settings of each.
        train_pieces: trains one, as `core.training.train_pieces` does.
        score_run: scores a trained one.
    """
    runs = tuple(runs)
    for i, settings in enumerate(runs):
        training = train_pieces(settings)
        result: Result | None = None
        while result is None:
            try:
                checkpoint = next(training)
            except StopIteration as end:
                result = end.value
            else:
                yield (
                    None
                    if checkpoint is None
                    else SeriesStep(
                        n_done=i,
                        n_runs=len(runs),
                        settings=settings,
                        step=checkpoint.step,
                        run=None,
                        checkpoint=checkpoint,
                    )
                )
        yield SeriesStep(
            n_done=i + 1,
            n_runs=len(runs),
            settings=settings,
            step=result.checkpoints[-1].step,
            run=score_run(result),
        )


def finished(steps: Iterable[SeriesStep[S, R] | None]) -> tuple[R, ...]:
    """Return the runs that these reports finished, in the order in which they did."""
    return tuple(step.run for step in steps if step is not None and step.run is not None)


def share_done(steps: Sequence[SeriesStep[S, R]]) -> float:
    """Return how much of a series of runs these reports cover, 0 … 1."""
    if not steps:
        return 0.0
    last = steps[-1]
    under_way = 0.0 if last.run else last.step / max(1, last.settings.n_steps)
    return min(1.0, (last.n_done + under_way) / last.n_runs)


def done_words(n_done: int, n_runs: int) -> str:
    """Say how much of a series of runs is done.

    >>> done_words(2, 10), done_words(1, 1)
    ('2 of 10 runs done', '1 of 1 run done')
    """
    return f"{n_done} of {n_runs} {'run' if n_runs == 1 else 'runs'} done"
