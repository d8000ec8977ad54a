"""What the cost of one head is measured at: sizes, methods, inputs, and the memory they need.

Two methods that give the same output: the formula with its n × n table (`core.formula`) and exact
row blocks (`core.row_blocks`). Both start from queries, keys and values in float32, which are
random: the cost does not depend on their content.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.attention import Floats
from core.binary_units import MIB
from core.formula import N_TABLES, attention_by_formula
from core.row_blocks import BLOCK_SIZE, attention_by_row_blocks

METHODS = ("formula", "row blocks")
FLOAT_BYTES = 4  # bytes in a float32
PROCESS_MIB = 80
"""What the process that measures memory takes for itself, in MiB: Python, NumPy, what was freed
and is not given back yet. At most 59 were measured on one thread and 77 on four, of which about 10
are libraries that it shares with the app."""


@dataclass(frozen=True, kw_only=True)
class ContextSettings:
    """Which sizes are measured, how often, and what a run may hold in memory."""

    n_smallest: int = 256  # tokens
    n_largest: int = 4096  # tokens; n_smallest doubled a whole number of times
    d_k: int = 128  # numbers in a query, a key and a value
    n_repeats: int = 5  # timed runs of each method at each size
    block_size: int = BLOCK_SIZE  # query rows in a block
    n_threads: int = 1  # blocks computed at the same time
    memory_cap_mib: int = 512  # MiB that a run may hold; with the app this fits a host of 1 GB
    seed: int = 0  # of the random queries, keys and values

    def __post_init__(self) -> None:
        for name in ("n_smallest", "d_k", "n_repeats", "block_size", "n_threads", "memory_cap_mib"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")
        if self.n_largest not in self.sizes:
            raise ValueError(
                f"n_largest must be n_smallest ({self.n_smallest}) doubled a whole number of "
                f"times, got {self.n_largest}"
            )
        if "row blocks" not in self.methods_at(self.n_largest):
            raise ValueError(
                f"n_largest must fit the memory cap (memory_cap_mib, {self.memory_cap_mib} MiB), "
                f"got {self.n_largest}, for which even row blocks need "
                f"{needed_mib(self.n_largest, 'row blocks', self)} MiB"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the numbers of tokens measured, each twice the one before."""
        n_sizes = max(1, (self.n_largest // self.n_smallest).bit_length())
        return tuple(self.n_smallest * 2**i for i in range(n_sizes))

    @property
    def cases(self) -> tuple[tuple[int, str], ...]:
        """Return what is measured, (tokens, method): the sizes in order, at each the methods."""
        return tuple((n, method) for n in self.sizes for method in self.methods_at(n))

    def methods_at(self, n: int) -> tuple[str, ...]:
        """Return the methods that fit the memory cap at n tokens."""
        return tuple(
            method for method in METHODS if needed_mib(n, method, self) <= self.memory_cap_mib
        )


def predicted_peak_bytes(n: int, method: str, settings: ContextSettings) -> int:
    """Return the most memory a method holds at once for n tokens, beyond q, k and v, in bytes.

    The formula holds three n × n tables inside its softmax, and each row's largest score. Row
    blocks hold the output, the keys transposed, and for each thread one block of scores and the
    largest of: the block's scaled queries, its two squares of mask, NumPy's buffer while the
    largest score is subtracted, the ones that add up a row.

    >>> predicted_peak_bytes(1024, "formula", ContextSettings()) / MIB
    12.00390625
    >>> predicted_peak_bytes(1024, "row blocks", ContextSettings()) / MIB
    1.5625
    """
    if method == "formula":
        return FLOAT_BYTES * (N_TABLES * n * n + n)
    rows = min(settings.block_size, n)
    n_threads = min(settings.n_threads, math.ceil(n / rows))
    table = FLOAT_BYTES * rows * n
    smaller = max(
        FLOAT_BYTES * rows * settings.d_k,
        2 * rows * rows,  # an entry of a mask is one byte
        FLOAT_BYTES * min(np.getbufsize(), rows * n),
        FLOAT_BYTES * n,
    )
    return FLOAT_BYTES * 2 * n * settings.d_k + n_threads * (table + smaller)


def needed_mib(n: int, method: str, settings: ContextSettings) -> int:
    """Return what is in memory when a method at n tokens is at its peak, in MiB, rounded up.

    That is its own peak, q, k and v of the largest size, the other method's output, which is kept
    to compare the two, and the process in which the memory is measured. The timed runs come when
    that process has ended, and hold no more than it did.
    """
    around = FLOAT_BYTES * settings.d_k * (3 * settings.n_largest + n)
    return PROCESS_MIB + math.ceil((predicted_peak_bytes(n, method, settings) + around) / MIB)


def draw_qkv(settings: ContextSettings) -> tuple[Floats, Floats, Floats]:
    """Draw q, k and v of the largest size, each (n_largest, d_k) in float32."""
    rng = np.random.default_rng(settings.seed)
    shape = (settings.n_largest, settings.d_k)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
    return q, k, v


def calculation(
    n: int, method: str, settings: ContextSettings, qkv: tuple[Floats, Floats, Floats]
) -> Callable[[], Floats]:
    """Return a method, ready to compute the output of the first n tokens of these q, k and v."""
    q, k, v = (array[:n] for array in qkv)
    if method == "formula":
        return lambda: attention_by_formula(q, k, v)
    return lambda: attention_by_row_blocks(
        q, k, v, block_size=settings.block_size, n_threads=settings.n_threads
    )
