"""Check the hand-written gradient of the heads on two facts by nudging parameters.

As in `core.gradcheck`: the loss that is nudged is the token by token one of
`core.two_facts_model`, the gradient the one through the circuits of `core.two_facts_circuits`.
"""

from collections.abc import Callable

import numpy as np

from core.gradcheck import (
    CheckedParameter,
    GradientCheck,
    central_difference,
    relative_difference,
)
from core.two_facts import TwoFacts, sample_two_facts
from core.two_facts_circuits import backward_heads, forward_heads, head_tables, index_facts
from core.two_facts_model import HEADS_MATRICES, HeadsParameters, start_heads, two_facts_loss
from core.two_facts_settings import TwoFactsSettings

HeadsGradient = Callable[[HeadsParameters, TwoFacts], HeadsParameters]


def heads_gradient(
    parameters: HeadsParameters, sequences: TwoFacts, q: float, *, values_in_keys: bool = False
) -> HeadsParameters:
    """Return the hand-written gradient of the mean loss of one batch."""
    [batch] = index_facts(sequences, parameters.shape, values_in_keys=values_in_keys)
    tables = head_tables(parameters, values_in_keys=values_in_keys)
    gradient = parameters.copy()
    answers = forward_heads(tables, batch)
    backward_heads(parameters, tables, batch, answers, gradient, q=q)
    return gradient


def check_heads(
    settings: TwoFactsSettings,
    *,
    n_sampled: int = 24,
    nudge: float = 1e-4,
    gradient: HeadsGradient | None = None,
) -> GradientCheck:
    """Compare the backward pass with central differences, in float64, at the random start.

    The loss is the one halfway from cross-entropy to what the training ends with. A parameter's
    row counts through the heads: row r of head h is row h × d_model + r, or h × d_k + r in W_O.

    Args:
        settings: the model, the task, the batch size, and the seed of everything drawn.
        n_sampled: parameters to check, spread evenly over the eight matrices.
        nudge: h, in units of the parameter.
        gradient: another gradient to check in place of the hand-written one.
    """
    start_rng, batch_rng, pick_rng = np.random.default_rng(settings.seed).spawn(3)
    parameters = start_heads(settings.shape, settings.init_scale, start_rng)
    sequences = sample_two_facts(
        settings.batch_size,
        settings.n_pairs,
        settings.n_keys,
        settings.n_values,
        settings.order,
        batch_rng,
    )
    q, seen = settings.q_at(settings.n_steps) / 2, settings.values_in_keys
    if gradient is None:
        analytic = heads_gradient(parameters, sequences, q, values_in_keys=seen)
    else:
        analytic = gradient(parameters, sequences)

    def loss() -> float:
        return two_facts_loss(parameters, sequences, q, values_in_keys=seen)

    checked = []
    for matrix, entry in _pick(parameters, n_sampled, pick_rng):
        place = parameters.offsets[matrix] + entry
        columns = parameters.shape.matrices[matrix][-1]
        numeric = central_difference(loss, parameters.flat, place, nudge)
        exact = float(analytic.flat[place])
        checked.append(
            CheckedParameter(
                matrix=matrix,
                row=entry // columns,
                column=entry % columns,
                analytic=exact,
                numeric=numeric,
                relative_difference=relative_difference(exact, numeric),
            )
        )
    return GradientCheck(nudge=nudge, n_sequences=len(sequences), checked=tuple(checked))


def _pick(
    parameters: HeadsParameters, n_sampled: int, rng: np.random.Generator
) -> list[tuple[str, int]]:
    """Pick entries without repetition, as evenly over the matrices as their sizes allow."""
    picked = []
    for i, (matrix, sizes) in enumerate(parameters.shape.matrices.items()):
        size = int(np.prod(sizes))
        wanted = n_sampled // len(HEADS_MATRICES) + (i < n_sampled % len(HEADS_MATRICES))
        entries = rng.choice(size, size=min(wanted, size), replace=False)
        picked += [(matrix, int(entry)) for entry in entries]
    return picked
