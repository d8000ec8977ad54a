"""Train the recall model, or a variant of it with something taken away.

A run depends on nothing but its `TrainSettings`: the start, the training batches and the test
sequences are three independent streams of one seed, so that variants of one seed start from the
same numbers and see the same sequences, and a short run is the beginning of a long one.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.circuits import PartIndex, backward, batch_of, circuits, forward, index_parts
from core.optimisers import OPTIMISERS, Optimiser, make_optimiser
from core.recall import ModelShape, Parameters, sample_sequences, start_parameters

VARIANTS = ("learned", "uniform", "frozen_scores", "frozen_query", "keys_without_values")

N_TEST = 2000  # sequences behind the loss and accuracy of every checkpoint
EARLY_STEPS = (0, 1, 2, 5, *range(10, 101, 10))  # where most of the learning happens
REGULAR_CHECKPOINTS = 100  # at most, besides the early ones
CHUNK_SEQUENCES = 8192  # drawn at once: fewer calls, and little memory

_LIMITS = {
    "n_pairs": (1, 16),
    "n_keys": (1, 32),
    "n_values": (2, 32),
    "d_model": (1, 128),
    "d_k": (1, 128),
    "batch_size": (1, 1024),
    "n_steps": (0, 10_000),
}


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Everything that determines a training run. The defaults are the article's task."""

    n_pairs: int = 3  # key–value pairs in a sequence, 1 … 16 and at most n_keys
    n_keys: int = 8  # different keys, 1 … 32
    n_values: int = 8  # different values, 2 … 32
    d_model: int = 32  # numbers in an embedding, 1 … 128
    d_k: int = 32  # numbers in a query, key vector and value vector, 1 … 128
    batch_size: int = 64  # sequences a step, 1 … 1,024
    learning_rate: float = 0.01  # no unit, above 0 and at most 10
    optimiser: str = "adam"  # one of OPTIMISERS
    init_scale: float = 0.1  # standard deviation of the random start, 0 … 10
    n_steps: int = 3000  # optimiser steps, 0 … 10,000
    seed: int = 0  # of the start, the batches and the test sequences
    variant: str = "learned"  # one of VARIANTS
    float_type: str = "float32"  # or "float64", for checks

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} must be a whole number from {low} to {high}, got {value}")
        if self.n_pairs > self.n_keys:
            raise ValueError(
                f"n_pairs must be at most n_keys ({self.n_keys}), as the keys of a sequence "
                f"differ, got {self.n_pairs}"
            )
        if not 0 < self.learning_rate <= 10:
            raise ValueError(
                f"learning_rate must be above 0 and at most 10, got {self.learning_rate}"
            )
        if not 0 <= self.init_scale <= 10:
            raise ValueError(f"init_scale must be from 0 to 10, got {self.init_scale}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed must be a whole number of at least 0, got {self.seed}")
        for name, allowed in (
            ("optimiser", OPTIMISERS),
            ("variant", VARIANTS),
            ("float_type", ("float32", "float64")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value}")

    @property
    def shape(self) -> ModelShape:
        """The sizes of the model."""
        return ModelShape(
            n_keys=self.n_keys, n_values=self.n_values, d_model=self.d_model, d_k=self.d_k
        )

    @property
    def frozen(self) -> tuple[str, ...]:
        """The matrices that keep their start."""
        return {
            "uniform": ("W_Q", "W_K"),
            "frozen_scores": ("W_Q", "W_K"),
            "frozen_query": ("W_Q",),
        }.get(self.variant, ())

    @property
    def values_in_keys(self) -> bool:
        """Whether a pair's key vector sees its value embedding."""
        return self.variant != "keys_without_values"


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """The model after some number of steps, tested on N_TEST sequences it never trains on.

    The test sequences are the same at every checkpoint of a run, and for every variant of a seed.
    """

    step: int  # optimiser steps taken
    loss: float  # nats, mean cross-entropy on the test sequences
    accuracy: float  # share of the test sequences answered right, 0 … 1
    qk: Floats  # (n_keys, n_keys + n_values) the QK circuit: a row asks
    ov: Floats  # (n_keys + n_values, n_values) the OV circuit: a row is looked at


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainResult:
    """A finished run."""

    settings: TrainSettings
    checkpoints: tuple[Checkpoint, ...]  # at least the one of step 0
    parameters: Parameters  # at the last checkpoint
    diverged: str | None  # a sentence if the run had to stop early


def checkpoint_steps(n_steps: int) -> tuple[int, ...]:
    """Return the steps that get a checkpoint: dense early, then regular, and always the last.

    >>> checkpoint_steps(30)[:8]
    (0, 1, 2, 3, 4, 5, 6, 7)
    >>> checkpoint_steps(3000)[12:17]
    (90, 100, 150, 200, 250)
    """
    spacing = next(
        factor * 10**power
        for power in range(5)
        for factor in (1, 2, 5)
        if n_steps <= factor * 10**power * REGULAR_CHECKPOINTS
    )
    steps = {*EARLY_STEPS, *range(0, n_steps, spacing), n_steps}
    return tuple(sorted(step for step in steps if step <= n_steps))


def start(settings: TrainSettings, rng: np.random.Generator) -> Parameters:
    """Draw the parameters a run starts from."""
    parameters = start_parameters(settings.shape, settings.init_scale, rng, settings.float_type)
    if settings.variant == "uniform":
        parameters.W_Q[:] = 0
        parameters.W_K[:] = 0
    return parameters


def train_steps(settings: TrainSettings) -> Generator[Checkpoint, None, TrainResult]:
    """Train, and yield a checkpoint at each of `checkpoint_steps`.

    Abandon a run by no longer asking for the next checkpoint. The generator's return value (the
    ``value`` of its `StopIteration`) is the `TrainResult`. A run that diverges ends early: its
    checkpoints stop at the last good one, and the result says why.
    """
    start_rng, batch_rng, test_rng = np.random.default_rng(settings.seed).spawn(3)
    run = _Run(settings, start(settings, start_rng), batch_rng)
    test = _draw(settings, 1, N_TEST, test_rng)
    checkpoints: list[Checkpoint] = []
    good = run.parameters.copy()
    diverged = None
    for step in checkpoint_steps(settings.n_steps):
        lost_at = run.advance_to(step)
        checkpoint = None if lost_at is not None else _test(settings, run.parameters, test, step)
        if checkpoint is None:
            diverged = (
                f"The loss stopped being a finite number at step {lost_at or step}; "
                f"the last good checkpoint is step {checkpoints[-1].step}."
            )
            break
        good = run.parameters.copy()
        checkpoints.append(checkpoint)
        yield checkpoint
    return TrainResult(
        settings=settings, checkpoints=tuple(checkpoints), parameters=good, diverged=diverged
    )


def train(settings: TrainSettings) -> TrainResult:
    """Train to the end.

    >>> result = train(TrainSettings(n_steps=100))
    >>> result.checkpoints[-1].step, result.checkpoints[-1].accuracy > 0.99
    (100, True)
    """
    run = train_steps(settings)
    while True:
        try:
            next(run)
        except StopIteration as end:
            result: TrainResult = end.value
            return result


class _Run:
    """The moving parts of one run."""

    def __init__(
        self, settings: TrainSettings, parameters: Parameters, rng: np.random.Generator
    ) -> None:
        self.settings = settings
        self.parameters = parameters
        self.gradient = parameters.copy()
        first = "W_Q"
        if settings.frozen:
            first = "E_key" if "W_K" in settings.frozen else "W_K"
        self.trained = slice(parameters.offsets[first], None)
        self.optimiser: Optimiser = make_optimiser(
            settings.optimiser, settings.learning_rate, parameters.flat[self.trained]
        )
        self.rng = rng
        self.chunk_steps = max(1, CHUNK_SEQUENCES // settings.batch_size)
        self.step = 0
        self.chunk: PartIndex | None = None

    def advance_to(self, step: int) -> int | None:
        """Train up to this step; return the step whose loss was not finite, if one was."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while self.step < step:
                place = self.step % self.chunk_steps
                if place == 0 or self.chunk is None:
                    self.chunk = _draw(
                        self.settings, self.chunk_steps, self.settings.batch_size, self.rng
                    )
                if not self._step(batch_of(self.chunk, place)):
                    return self.step
                self.step += 1
        return None

    def _step(self, batch: PartIndex) -> bool:
        values_in_keys = self.settings.values_in_keys
        tables = circuits(self.parameters, values_in_keys=values_in_keys)
        answers = forward(tables, batch)
        if not np.isfinite(answers.losses.sum()):
            return False
        backward(
            self.parameters, tables, batch, answers, self.gradient, values_in_keys=values_in_keys
        )
        self.optimiser.step(self.parameters.flat[self.trained], self.gradient.flat[self.trained])
        return True


def _draw(
    settings: TrainSettings, n_batches: int, batch_size: int, rng: np.random.Generator
) -> PartIndex:
    sequences = sample_sequences(
        n_batches * batch_size, settings.n_pairs, settings.n_keys, settings.n_values, rng
    )
    return index_parts(sequences, settings.n_keys, settings.n_values, batch_size)


def _test(
    settings: TrainSettings, parameters: Parameters, test: PartIndex, step: int
) -> Checkpoint | None:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        tables = circuits(parameters, values_in_keys=settings.values_in_keys)
        answers = forward(tables, batch_of(test, 0))
    loss = float(answers.losses.mean())
    if not np.isfinite(loss):
        return None
    right = answers.logits.argmax(axis=0) == test.in_logits[0] // N_TEST
    return Checkpoint(
        step=step, loss=loss, accuracy=float(right.mean()), qk=tables.qk, ov=tables.ov
    )
