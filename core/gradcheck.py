"""Check a hand-written gradient by nudging parameters.

If the gradient is right, moving one parameter by ±h changes the loss by 2h times its entry, up to
terms in h³: the central difference (loss(θ + h) − loss(θ − h)) / 2h. The loss here is the token
by token one of `core.recall`, the gradient the one through the circuits of `core.circuits`, so
that an error in either shows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.circuits import backward, circuits, forward, index_parts
from core.recall import (
    MATRICES,
    Parameters,
    Sequences,
    recall_loss,
    sample_sequences,
    start_parameters,
)
from core.training import TrainSettings

Gradient = Callable[[Parameters, Sequences], Parameters]


@dataclass(frozen=True, kw_only=True)
class CheckedParameter:
    """One parameter's gradient, from the backward pass and from nudging."""

    matrix: str  # one of MATRICES
    row: int
    column: int
    analytic: float  # nats per unit of the parameter
    numeric: float  # nats per unit of the parameter
    relative_difference: float  # |analytic − numeric| / the larger of both, no unit


@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """All sampled parameters."""

    nudge: float  # h, in units of the parameter
    n_sequences: int  # in the batch whose mean loss is differentiated
    checked: tuple[CheckedParameter, ...]

    @property
    def worst(self) -> CheckedParameter:
        """The parameter with the largest relative difference."""
        return max(self.checked, key=lambda one: one.relative_difference)


def circuit_gradient(
    parameters: Parameters, sequences: Sequences, *, values_in_keys: bool = True
) -> Parameters:
    """Return the hand-written gradient of the mean loss of one batch."""
    [batch] = index_parts(sequences, parameters.shape.n_keys, parameters.shape.n_values)
    tables = circuits(parameters, values_in_keys=values_in_keys)
    gradient = parameters.copy()
    answers = forward(tables, batch)
    backward(parameters, tables, batch, answers, gradient, values_in_keys=values_in_keys)
    return gradient


def check_gradients(
    settings: TrainSettings,
    *,
    parameters: Parameters | None = None,
    n_sampled: int = 24,
    nudge: float = 3e-3,
    gradient: Gradient | None = None,
) -> GradientCheck:
    """Compare the backward pass with central differences, in float64.

    Args:
        settings: the model, the task, the batch size, and the seed of everything drawn.
        parameters: where to differentiate; a random start of the settings when None.
        n_sampled: parameters to check, spread evenly over the six matrices.
        nudge: h.
        gradient: another gradient to check in place of the hand-written one.
    """
    start_rng, batch_rng, pick_rng = np.random.default_rng(settings.seed).spawn(3)
    if parameters is None:
        parameters = start_parameters(settings.shape, settings.init_scale, start_rng)
    parameters = parameters.copy(np.float64)
    sequences = sample_sequences(
        settings.batch_size, settings.n_pairs, settings.n_keys, settings.n_values, batch_rng
    )
    values_in_keys = settings.values_in_keys
    if gradient is None:
        analytic = circuit_gradient(parameters, sequences, values_in_keys=values_in_keys)
    else:
        analytic = gradient(parameters, sequences)

    def loss() -> float:
        return recall_loss(parameters, sequences, values_in_keys=values_in_keys)

    checked = []
    for matrix, row, column in _pick(parameters, n_sampled, pick_rng):
        place = parameters.offsets[matrix] + row * parameters.shape.matrices[matrix][1] + column
        numeric = central_difference(loss, parameters.flat, place, nudge)
        exact = float(analytic.flat[place])
        checked.append(
            CheckedParameter(
                matrix=matrix,
                row=row,
                column=column,
                analytic=exact,
                numeric=numeric,
                relative_difference=relative_difference(exact, numeric),
            )
        )
    return GradientCheck(nudge=nudge, n_sequences=len(sequences), checked=tuple(checked))


def central_difference(
    loss: Callable[[], float], parameters: Floats, place: int, nudge: float
) -> float:
    """Return (loss(θ + h) − loss(θ − h)) / 2h for one entry of θ, and leave θ as it was."""
    kept = parameters[place]
    parameters[place] = kept + nudge
    above = loss()
    parameters[place] = kept - nudge
    below = loss()
    parameters[place] = kept
    return (above - below) / (2 * nudge)


def relative_difference(a: float, b: float) -> float:
    """Return |a − b| / max(|a|, |b|), and 0 where both are 0.

    >>> relative_difference(2.0, 1.0), relative_difference(0.0, 0.0)
    (0.5, 0.0)
    """
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if largest else 0.0


def _pick(
    parameters: Parameters, n_sampled: int, rng: np.random.Generator
) -> list[tuple[str, int, int]]:
    """Pick entries without repetition, as evenly over the six matrices as their sizes allow."""
    picked = []
    for i, (matrix, (rows, columns)) in enumerate(parameters.shape.matrices.items()):
        wanted = n_sampled // len(MATRICES) + (i < n_sampled % len(MATRICES))
        entries = rng.choice(rows * columns, size=min(wanted, rows * columns), replace=False)
        picked += [(matrix, int(entry) // columns, int(entry) % columns) for entry in entries]
    return picked
