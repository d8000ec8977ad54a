"""The controls of the page on many heads, and the question it asks first."""

from core.many_heads import MAX_SEEDS
from core.two_facts_settings import GOALS, MAX_HEADS
from pages.parts.controls import AnyControl, Choice, Slider, Switch
from pages.parts.lesson import Choose

TASK: tuple[AnyControl, ...] = (
    Slider(key="n_values", label="Different values", low=2, high=16, default=8),
    Slider(key="n_pairs", label="Pairs in a sequence", low=2, high=8, default=3),
    Switch(
        key="values_in_keys",
        label="Scores may see the values",
        default=False,
        help="The ceiling of one head is for scores that see the keys alone.",
    ),
    Choice(
        key="goal",
        label="What the training is for",
        options=GOALS,
        default=GOALS[0],
        kind="radio",
        help="Fewest errors: the loss turns from cross-entropy into the chance of an error.",
    ),
    Slider(key="n_steps", label="Steps", low=100, high=5000, default=1000, step=100),
    Slider(key="n_keys", label="Different keys", low=2, high=16, default=8),
    Slider(
        key="d_k", label="d_k (numbers in a head's query or key vector)", low=1, high=64, default=16
    ),
    Slider(key="d_model", label="d_model (numbers in an embedding)", low=1, high=64, default=32),
    Choice(
        key="learning_rate",
        label="Learning rate (no unit)",
        options=(0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0),
        default=0.01,
        kind="slider",
    ),
    Choice(
        key="init_scale",
        label="Initial scale",
        options=(0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0),
        default=0.3,
        kind="slider",
        help="Standard deviation of the random start.",
    ),
    Slider(key="seed", label="Seed", low=0, high=99, default=0, help="The first of the seeds."),
)
SEEDS = Slider(key="n_seeds", label="Seeds (runs of each row)", low=1, high=MAX_SEEDS, default=5)
CONTROLS: tuple[AnyControl, ...] = (*TASK[:2], SEEDS, *TASK[2:])
CLOSER: tuple[AnyControl, ...] = (
    Slider(key="heads", label="Heads", low=1, high=MAX_HEADS, default=2),
    Slider(key="run", label="Run", low=1, high=MAX_SEEDS, default=1, help="1 is the first seed's."),
)

PREDICTION = Choose(
    question="Eight different values. One head may look at both named pairs at once. Trained to be "
    "right as often as possible, how often does it give both values, in the order asked?",
    answers=(
        "Always: it sees both values",
        "A little over half the time",
        "1 in 8: it reads one value and guesses the other",
        "1 in 64: the two blur into one",
    ),
)
