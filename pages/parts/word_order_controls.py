"""What can be chosen on the word-order page, and what it asks first."""

from functools import partial

from core.order_training import SLOPES
from core.positions import SCHEMES
from core.tables.order_findings import slope_words
from core.tables.word_order import label
from pages.parts.controls import AnyControl, Choice, Slider
from pages.parts.lesson import Choose

WIDTHS = (2, 4, 8, 16, 32, 64)
TASK = (
    Slider(
        key="n_times",
        label="Times the asked key occurs",
        low=1,
        high=4,
        default=2,
        help="Each time with another value; the last one counts. With 1, order does not matter.",
    ),
    Slider(key="n_others", label="Other pairs", low=0, high=7, default=3),
    Choice(
        key="alibi_slope",
        label="ALiBi's slope (score lost a position)",
        options=SLOPES,
        default=0.5,
        kind="slider",
        show=lambda slope: slope if isinstance(slope, str) else slope_words(slope),
        help="The paper gives eight heads 1/2, 1/4 … 1/256. With 0 nothing is added.",
    ),
    Choice(key="d_k", label="d_k (numbers in a query)", options=WIDTHS, default=32, kind="slider"),
    Slider(key="n_steps", label="Steps", low=100, high=3000, default=1000, step=100),
    Slider(key="n_values", label="Different values", low=4, high=32, default=8),
    Choice(
        key="d_model",
        label="d_model (numbers in an embedding)",
        options=WIDTHS,
        default=32,
        kind="slider",
    ),
    Choice(
        key="learning_rate",
        label="Learning rate at the start (no unit)",
        options=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 10.0),
        default=0.01,
        kind="slider",
        help="It falls in a straight line to 0 over the run.",
    ),
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0),
        default=0.1,
        kind="slider",
        help="Standard deviation of the random start.",
    ),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)
SEEDS = Slider(key="n_seeds", label="Seeds (runs of each scheme)", low=1, high=10, default=3)
CONTROLS: tuple[AnyControl, ...] = (*TASK[:2], SEEDS, *TASK[2:])
SLOPE_SERIES = "order_slopes"  # the name of the series that measures ALiBi's slopes
WHICH = partial(Choice, options=SCHEMES, kind="radio", show=label)
ORDERS: tuple[AnyControl, ...] = (
    WHICH(key="shuffled_scheme", label="Positions of this head", default="none"),
    Slider(key="order", label="Order", low=0, high=50, default=0, help="0 is the reverse."),
)
PICTURES: tuple[AnyControl, ...] = (
    WHICH(key="drawn_scheme", label="Scheme", default="rotary"),
    Slider(key="n_positions", label="Positions", low=4, high=48, default=16),
)

PREDICTION = Choose(
    question="One key stands twice in a sequence, with two different values out of eight; the "
    "later one is the right answer. The head is trained, and is never told where a pair stands. "
    "How often is its answer right?",
    answers=(
        "1 in 8: it can only guess",
        "Half the time",
        "Always: the later pair is nearer to the question",
        "Never: it answers with the average of both",
    ),
)
