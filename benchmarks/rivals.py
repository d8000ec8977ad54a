"""The recall model as users of PyTorch and JAX would train it, on batches drawn beforehand.

Both are written the way the model is explained: embed every token, run the head, read the answer.
JAX also gets the two tables of `core.circuits`, which shows how much of our speed is the tables
and how much of what is left is NumPy. All start from the same numbers, see the same batches, and
return the loss of every step, so that it can be checked that they do the same.
"""

# ruff: noqa: ANN401 - the two libraries' arrays have no type in common

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.optimisers import BETA_1, BETA_2, EPSILON
from core.recall import MATRICES, Parameters, Sequences

Losses = NDArray[np.floating]
"""(n_steps,) nats, the mean of each batch."""

FIELDS = ("keys", "values", "questions", "answers")


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """What is to be learned from: the start and every batch, in order."""

    start: Parameters
    sequences: Sequences  # n_steps × batch_size of them
    batch_size: int
    learning_rate: float

    def part(self, start: int, stop: int) -> Sequences:
        """Return some of the sequences, in arrays of their own."""
        arrays = {name: array[start:stop].copy("K") for name, array in vars(self.sequences).items()}
        return Sequences(**arrays)

    def batches(self) -> tuple[NDArray[np.int64], ...]:
        """Return keys, values, questions and answers, each (n_steps, batch_size, …)."""
        fields = (getattr(self.sequences, name) for name in FIELDS)
        return tuple(
            np.ascontiguousarray(field).reshape(-1, self.batch_size, *field.shape[1:])
            for field in fields
        )


def torch_trainer(lesson: Lesson, *, fused: bool) -> Callable[[], Losses]:
    """Return an eager PyTorch training, with Adam as it comes or as one fused kernel."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)

    class Recall(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in MATRICES:
                value = torch.tensor(getattr(lesson.start, name))
                setattr(self, name, torch.nn.Parameter(value))

        def forward(self, keys: Any, values: Any, questions: Any) -> Any:
            question = self.E_key[questions].unsqueeze(1)
            x = torch.cat([self.E_key[keys] + self.E_value[values], question], dim=1)
            Q, K, V = question @ self.W_Q, x @ self.W_K, x @ self.W_V
            weights = torch.softmax(Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1)
            return (weights @ V @ self.W_O).squeeze(1)

    batches = list(zip(*map(torch.from_numpy, lesson.batches()), strict=True))

    def run() -> Losses:
        model = Recall()
        optimiser = torch.optim.Adam(
            model.parameters(), lr=lesson.learning_rate, fused=fused or None
        )
        losses = []
        for keys, values, questions, answers in batches:
            loss = functional.cross_entropy(model(keys, values, questions), answers)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.detach())
        return torch.stack(losses).numpy()

    return run


def jax_trainer(lesson: Lesson, *, tables: bool) -> tuple[Callable[[], Losses], float]:
    """Return a training compiled by JAX, all steps in one scan, and how long compiling took."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    from jax import numpy as jnp

    def by_token(p: dict[str, Any], keys: Any, values: Any, questions: Any) -> Any:
        question = p["E_key"][questions][:, None]
        x = jnp.concatenate([p["E_key"][keys] + p["E_value"][values], question], axis=1)
        Q, K, V = question @ p["W_Q"], x @ p["W_K"], x @ p["W_V"]
        weights = jax.nn.softmax(Q @ K.swapaxes(1, 2) / Q.shape[-1] ** 0.5)
        return (weights @ V @ p["W_O"])[:, 0]

    def by_tables(p: dict[str, Any], keys: Any, values: Any, questions: Any) -> Any:
        n_keys, n_pairs = len(p["E_key"]), keys.shape[1]
        E = jnp.concatenate([p["E_key"], p["E_value"]])
        qk = (p["E_key"] @ p["W_Q"]) @ (E @ p["W_K"]).T / p["W_Q"].shape[1] ** 0.5
        ov = E @ p["W_V"] @ p["W_O"]
        parts = jnp.concatenate([keys, questions[:, None], n_keys + values], axis=1)
        scores = qk[questions[:, None], parts]
        scores = scores[:, : n_pairs + 1].at[:, :n_pairs].add(scores[:, n_pairs + 1 :])
        weights = jax.nn.softmax(scores)
        weights = jnp.concatenate([weights, weights[:, :n_pairs]], axis=1)
        return jnp.einsum("bt,btv->bv", weights, ov[parts])

    model = by_tables if tables else by_token

    def loss_of(p: dict[str, Any], batch: tuple[Any, ...]) -> Any:
        *tokens, answers = batch
        log_probabilities = jax.nn.log_softmax(model(p, *tokens))
        return -jnp.take_along_axis(log_probabilities, answers[:, None], axis=1).mean()

    def step(state: Any, batch: tuple[Any, ...]) -> tuple[Any, Any]:
        p, mean, square, t = state
        loss, gradient = jax.value_and_grad(loss_of)(p, batch)
        t = t + 1
        mean = jax.tree.map(lambda m, g: BETA_1 * m + (1 - BETA_1) * g, mean, gradient)
        square = jax.tree.map(lambda s, g: BETA_2 * s + (1 - BETA_2) * g * g, square, gradient)
        rate, root = lesson.learning_rate / (1 - BETA_1**t), jnp.sqrt(1 - BETA_2**t)
        p = jax.tree.map(
            lambda w, m, s: w - rate * m / (jnp.sqrt(s) / root + EPSILON), p, mean, square
        )
        return (p, mean, square, t), loss

    start = {name: jnp.array(getattr(lesson.start, name)) for name in MATRICES}
    zeros = jax.tree.map(jnp.zeros_like, start)
    batches = tuple(jnp.array(field.astype(np.int32)) for field in lesson.batches())
    state = (start, zeros, zeros, jnp.zeros(()))
    began = time.perf_counter()
    compiled = jax.jit(lambda s, b: jax.lax.scan(step, s, b)[1]).lower(state, batches).compile()
    seconds = time.perf_counter() - began
    return lambda: np.asarray(compiled(state, batches)), seconds
