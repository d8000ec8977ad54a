"""The recall experiment whole: a head that learns everything beside one that cannot attend.

Both runs have the same settings, start, batches and test sequences. They are trained side by side,
a checkpoint of one and then of the other, and both are then asked the same fresh sequences.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.evaluation import Evaluation, evaluate, evaluate_on
from core.training import Checkpoint, TrainResult, TrainSettings, train_pieces

N_FRESH = 5000  # sequences both trained heads are asked; no run of the seed trains or tests on them


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """One run has reached a checkpoint."""

    variant: str  # "learned" or "uniform"
    checkpoint: Checkpoint


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """Both heads have answered the same fresh sequences."""

    learned: Evaluation
    uniform: Evaluation


Part = Trained | TrainResult | Asked
"""What the experiment yields: checkpoints, then each run's result as it ends, then the answers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecallRun:
    """As much of the experiment as has been computed."""

    learned: tuple[Checkpoint, ...]  # first to last
    uniform: tuple[Checkpoint, ...]
    learned_result: TrainResult | None  # None until that run has ended
    uniform_result: TrainResult | None
    asked: Asked | None  # None until both have

    @property
    def step(self) -> int:
        """The steps both runs have taken."""
        return min((run[-1].step if run else 0) for run in (self.learned, self.uniform))

    @property
    def diverged(self) -> tuple[tuple[str, str], ...]:
        """The variants that had to stop early, each with the sentence that says why."""
        results = (("learned", self.learned_result), ("uniform", self.uniform_result))
        return tuple((name, run.diverged) for name, run in results if run and run.diverged)


def recall_parts(settings: TrainSettings) -> Iterator[Part | None]:
    """Run the experiment, and yield its parts as they are done.

    None is yielded in between, wherever others may have a turn; the settings' ``variant`` is not
    used.
    """
    runs = {
        variant: train_pieces(replace(settings, variant=variant))
        for variant in ("learned", "uniform")
    }
    results: dict[str, TrainResult] = {}
    while len(results) < len(runs):
        for variant, run in runs.items():
            result = None if variant in results else (yield from _to_checkpoint(variant, run))
            if result is not None:
                results[variant] = result
                yield result
    learned, uniform = results["learned"], results["uniform"]
    # The first three children of the seed are the training's: start, batches and test sequences.
    rng = np.random.default_rng(settings.seed).spawn(4)[3]
    of_learned = evaluate(learned.parameters, learned.settings, N_FRESH, rng=rng)
    yield None
    of_uniform = evaluate_on(of_learned.sequences, uniform.parameters, uniform.settings)
    yield Asked(learned=of_learned, uniform=of_uniform)


def run_so_far(parts: Sequence[Part]) -> RecallRun:
    """Put the parts together."""
    checkpoints: dict[str, list[Checkpoint]] = {"learned": [], "uniform": []}
    results: dict[str, TrainResult] = {}
    asked = None
    for part in parts:
        if isinstance(part, Trained):
            checkpoints[part.variant].append(part.checkpoint)
        elif isinstance(part, TrainResult):
            results[part.settings.variant] = part
        else:
            asked = part
    return RecallRun(
        learned=tuple(checkpoints["learned"]),
        uniform=tuple(checkpoints["uniform"]),
        learned_result=results.get("learned"),
        uniform_result=results.get("uniform"),
        asked=asked,
    )


def part_bytes(part: Part) -> int:
    """Return the memory one part takes, its arrays' bytes."""
    if isinstance(part, Trained):
        return part.checkpoint.qk.nbytes + part.checkpoint.ov.nbytes
    if isinstance(part, TrainResult):  # its checkpoints were counted as they came
        return part.parameters.flat.nbytes
    sequences = part.learned.sequences  # the same for both
    total = sequences.keys.nbytes + sequences.values.nbytes + 3 * sequences.answers.nbytes
    for evaluation in (part.learned, part.uniform):
        total += evaluation.weights.nbytes + evaluation.predicted.nbytes
    return total


def _to_checkpoint(
    variant: str, run: Generator[Checkpoint | None, None, TrainResult]
) -> Generator[Trained | None, None, TrainResult | None]:
    """Train one run up to its next checkpoint; return its result if there was none."""
    while True:
        try:
            checkpoint = next(run)
        except StopIteration as end:
            result: TrainResult = end.value
            return result
        if checkpoint is not None:
            yield Trained(variant=variant, checkpoint=checkpoint)
            return None
        yield None
