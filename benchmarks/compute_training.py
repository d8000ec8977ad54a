"""Training the recall model: ours, eager PyTorch, and JAX compiled into one scan.

    python -m benchmarks.compute_training
    python -m benchmarks.compute_training --steps 500 --repeats 3

All of them take the same steps from the same start on the same batches of float32, drawn
beforehand, on one core. The whole run of `core.training`, with drawing its batches and testing the
model at each of its checkpoints, is timed as well. A second table says what limits our step.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.counting import Counted
from benchmarks.report import Row, machine, markdown, write
from benchmarks.rivals import Lesson, Losses, jax_trainer, torch_trainer
from benchmarks.timing import Spread, blas, keep_to_one_core, load, measure_in_turns, ratio
from core.circuits import PartIndex, backward, circuits, forward, index_parts
from core.optimisers import Optimiser, make_optimiser
from core.recall import Parameters, sample_sequences, start_parameters
from core.train_settings import TrainSettings
from core.training import CHUNK_SEQUENCES, train

OURS = "NumPy, two tables"
JAX_TABLES = "JAX, compiled, two tables"
SMALLEST = TrainSettings(n_pairs=1, n_keys=1, n_values=2, d_model=1, d_k=1, batch_size=1)
FIRST_STEPS = 50  # whose losses must agree: later ones are near zero, and mostly rounding
AIMS = (("PyTorch, eager", 1, 8.0), ("JAX, compiled", 256, 1.0))  # method, from batch, × ours
LIMIT_STEPS = 200  # a timing of the second table


def draw(settings: TrainSettings) -> Lesson:
    """Draw the start and all batches of a run."""
    rng = np.random.default_rng(settings.seed)
    return Lesson(
        start=start_parameters(settings.shape, settings.init_scale, rng, np.float32),
        sequences=sample_sequences(
            settings.n_steps * settings.batch_size,
            settings.n_pairs,
            settings.n_keys,
            settings.n_values,
            rng,
        ),
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
    )


def take_step(
    parameters: Parameters, gradient: Parameters, optimiser: Optimiser, batch: PartIndex
) -> float:
    """Take one step like `core.training`, and return the loss before it."""
    tables = circuits(parameters)
    answers = forward(tables, batch)
    loss = float(answers.losses.sum()) / batch.in_logits.size
    if not math.isfinite(loss):
        raise ValueError(f"the loss must stay finite, got {loss}")
    backward(parameters, tables, batch, answers, gradient)
    optimiser.step(parameters.flat, gradient.flat)
    return loss


def our_trainer(lesson: Lesson) -> Callable[[], Losses]:
    """Return our training on batches drawn beforehand; indexing them is part of it."""
    shape = lesson.start.shape

    # Indexed in the chunks of `core.training`, which stay in the processor's cache.
    size = max(1, CHUNK_SEQUENCES // lesson.batch_size) * lesson.batch_size
    chunks = [lesson.part(start, start + size) for start in range(0, len(lesson.sequences), size)]

    def run() -> Losses:
        parameters, gradient = lesson.start.copy(), lesson.start.copy()
        optimiser = make_optimiser("adam", lesson.learning_rate, parameters.flat)
        losses = [
            take_step(parameters, gradient, optimiser, batch)
            for chunk in chunks
            for batch in index_parts(chunk, shape.n_keys, shape.n_values, lesson.batch_size)
        ]
        return np.array(losses)

    return run


def training_rows(settings: TrainSettings, n_repeats: int) -> list[Row]:
    """Time every method at one batch size."""
    lesson = draw(settings)
    by_token, compile_by_token = jax_trainer(lesson, tables=False)
    by_tables, compile_by_tables = jax_trainer(lesson, tables=True)
    trainers = {
        OURS: our_trainer(lesson),
        "PyTorch, eager": torch_trainer(lesson, fused=False),
        "PyTorch, eager, fused Adam": torch_trainer(lesson, fused=True),
        "JAX, compiled": by_token,
        JAX_TABLES: by_tables,
    }
    losses = {name: trainer() for name, trainer in trainers.items()}
    for name, found in losses.items():
        np.testing.assert_allclose(
            found[:FIRST_STEPS], losses[OURS][:FIRST_STEPS], rtol=0.01, err_msg=name
        )
    seconds = measure_in_turns(
        {**trainers, "NumPy, two tables, whole run": lambda: train(settings)}, n_repeats
    )
    compiling = {"JAX, compiled": compile_by_token, JAX_TABLES: compile_by_tables}
    return [
        {
            "Batch (sequences)": settings.batch_size,
            "Method": name,
            **Spread.of(times).columns("Time", "s"),
            "A step (µs)": Spread.of(times).median / settings.n_steps * 1e6,
            **ratio(times, seconds[OURS]).columns("Against ours", "×"),
            "Compiling, apart (s)": compiling.get(name, 0.0),
        }
        for name, times in seconds.items()
    ]


def limit_rows(batch_sizes: list[int], n_repeats: int) -> list[Row]:
    """Compare our step with the same NumPy calls on arrays of one or two numbers."""
    every = [
        TrainSettings(batch_size=size, n_steps=LIMIT_STEPS)
        for size in sorted({*batch_sizes, 16, 1024})
    ]
    trainers = {f"batch {s.batch_size}": our_trainer(draw(s)) for s in every}
    smallest = draw(TrainSettings(**{**vars(SMALLEST), "n_steps": LIMIT_STEPS}))
    seconds = measure_in_turns({"smallest": our_trainer(smallest), **trainers}, n_repeats)
    n_calls = count_calls(smallest)
    overhead = Spread.of(seconds["smallest"]).median / LIMIT_STEPS * 1e6
    return [
        {
            "Batch (sequences)": s.batch_size,
            "NumPy calls a step": n_calls,
            "A call on almost nothing (µs)": overhead / n_calls,
            "Calls × that (µs)": overhead,
            **Spread.of(times).columns("A step", "µs", 1e6 / LIMIT_STEPS),
            "Of it overhead (%)": 100 * ratio(seconds["smallest"], times).median,
        }
        for s in every
        for times in [seconds[f"batch {s.batch_size}"]]
    ]


def what_limits(rows: list[Row], limits: list[Row]) -> list[str]:
    """Say how much of our step is calling NumPy, and what a compiler makes of the same tables."""
    steps = {(row["Method"], row["Batch (sequences)"]): row["A step (µs)"] for row in rows}
    return [
        f"Batch {batch}: of our {float(row['A step (µs)']):.0f} µs a step, "
        f"{float(row['Calls × that (µs)']):.0f} µs are the overhead of "
        f"{row['NumPy calls a step']} NumPy calls. JAX, which compiles the calls away, takes "
        f"{float(steps[JAX_TABLES, batch]):.0f} µs on the same two tables."
        for row in limits
        for batch in [row["Batch (sequences)"]]
        if (JAX_TABLES, batch) in steps
    ]


def growth(limits: list[Row]) -> str:
    """Fit what a step costs whatever the batch, and what each sequence adds."""
    sizes = [float(row["Batch (sequences)"]) for row in limits]
    times = [float(row["A step (µs)"]) for row in limits]
    (slope, fixed), covariance = np.polyfit(sizes, times, 1, cov=True)
    slope_error, fixed_error = np.sqrt(np.diag(covariance))
    return (
        f"A step took {fixed:.1f} ± {fixed_error:.1f} µs, and {slope:.4f} ± {slope_error:.4f} µs "
        f"more for each sequence (least squares over {len(sizes)} batch sizes, standard errors)."
    )


def count_calls(lesson: Lesson) -> int:
    """Return how many NumPy calls one step makes, the indexing of its batch apart."""
    shape = lesson.start.shape
    parameters, gradient = (
        Parameters(Counted.of(lesson.start.flat.copy()), shape) for _ in range(2)
    )
    optimiser = make_optimiser("adam", lesson.learning_rate, parameters.flat)
    batch = index_parts(lesson.sequences, shape.n_keys, shape.n_values, lesson.batch_size)[0]
    Counted.calls.clear()
    take_step(parameters, gradient, optimiser, batch)
    return Counted.calls.total()


def verdicts(rows: list[Row]) -> list[str]:
    """Compare with what is aimed at."""
    return [
        f"{row['Method']}, batch {row['Batch (sequences)']}: {row['Against ours (×)']:.2f} times "
        f"as long as ours; the aim is at least {aim:.0f}: "
        f"{'met' if float(row['Against ours (×)']) >= aim else 'missed'}."
        for row in rows
        for method, least_batch, aim in AIMS
        if row["Method"] == method and int(row["Batch (sequences)"]) >= least_batch
    ]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--write", type=Path, nargs="+", default=[], help=".csv or .md files")
    return parser.parse_args(arguments)


def main() -> None:
    """Run from the command line."""
    options = parse()
    notes = [machine("numpy", "torch", "jax"), blas(), load(), keep_to_one_core()]
    rows = [
        row
        for size in options.batch_sizes
        for row in training_rows(
            TrainSettings(batch_size=size, n_steps=options.steps), options.repeats
        )
    ]
    limits = limit_rows(options.batch_sizes, options.repeats)
    notes.append(
        f"{options.steps:,} steps, float32. Medians of {options.repeats} repeats, all methods in "
        "turns, with their quartiles (from, to); a ratio is between times of the same repeat. All "
        f"methods had the same losses in the first {FIRST_STEPS} steps, within 1 %. Only the whole "
        "run draws its batches while timed, and tests the model at its checkpoints."
    )
    notes += [*verdicts(rows), *what_limits(rows, limits), growth(limits)]
    print("\n\n".join([markdown(rows), markdown(limits), *notes]))
    for path in options.write:
        write(path, rows, [markdown(limits), *notes])


if __name__ == "__main__":
    main()
