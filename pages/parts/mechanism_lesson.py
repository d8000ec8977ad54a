"""What the mechanism page offers and says: its controls, its question, its cases and its words."""

from core.heads import HEADS
from core.mechanism import PRESETS, VECTORS
from pages.parts.controls import Choice, Slider, Switch, Text
from pages.parts.lesson import Choose

HEAD_NAMES = {
    "adjectives": "Nouns ask for adjectives",
    "context": "Context picks a meaning",
    "random": "Random",
}
VECTOR_NAMES = {"lexicon": "Hand-made lexicon", "random": "Random"}

CONTROLS = (
    Text(
        key="sentence",
        label="Sentence",
        default="a fluffy blue creature",
        help="Up to 24 tokens. A word the lexicon does not have gets a random vector and a *.",
    ),
    Choice(
        key="head",
        label="Head (two are set by hand)",
        options=HEADS,
        default="adjectives",
        show=lambda name: HEAD_NAMES[name],
    ),
    Choice(
        key="d_k",
        label="d_k (numbers in each query and key)",
        options=(1, 2, 4, 8, 16, 32, 64),
        default=4,
        kind="slider",
        help="A head set by hand uses the first one or two numbers and leaves the others 0: its "
        "q·k stays, and a larger d_k only divides it by more. The random head fills all of them.",
    ),
    Slider(
        key="token",
        label="Word to follow (position)",
        low=1,
        high=24,
        default=4,
        help="The number in front of the word on every axis, counted from 1.",
    ),
    Switch(key="causal", label="Causal mask", default=True),
    Switch(key="divide", label="Divide by √d_k", default=True),
    Choice(
        key="vectors",
        label="Word vectors",
        options=VECTORS,
        default="lexicon",
        kind="radio",
        show=lambda name: VECTOR_NAMES[name],
    ),
    Slider(
        key="score_scale",
        label="Score scale (factor)",
        low=0.0,
        high=4.0,
        default=1.0,
        step=0.25,
        help="Every score is multiplied by this as well. At 0 all scores are equal.",
    ),
    Slider(
        key="seed",
        label="Seed",
        low=0,
        high=99,
        default=0,
        help="Fixes unknown words, random vectors and the random head.",
    ),
)

PREDICTION = Choose(
    question="The vector of “creature” holds nothing fluffy or blue. One head lets it look at the "
    "words of “a fluffy blue creature” and adds what it finds. What becomes of the vector?",
    answers=(
        "It stays as it is: a word's vector is fixed",
        "It becomes the vector of “fluffy”",
        "It turns towards “blue”, the nearest word",
        "It turns towards both and stays a creature",
    ),
)
WHY = (
    "A word's weights decide how much of each neighbour's value it takes. Their sum is added to "
    "the vector that was there; nothing is replaced."
)
CASES = (
    (
        "Can “bank” see a river that comes after it?",
        {"sentence": "the bank beside the river", "head": "context", "token": 2},
    ),
    (
        "Two nouns: what does the later one get?",
        {"sentence": "a fluffy cat saw a blue bird", "token": 7},
    ),
    ("All scores equal: what is left?", {"score_scale": 0.0}),
    ("Set by hand, d_k = 64: who is still heard?", {"d_k": 64}),
    (
        "Random, d_k = 64, undivided: how sharp?",
        {
            "sentence": PRESETS["Random vectors"].sentence,
            "vectors": "random",
            "head": "random",
            "token": 8,
            "d_k": 64,
            "divide": False,
        },
    ),
)

DIAGRAM = """%%{init: {"themeVariables": {"fontSize": "18px"}}}%%
%%{init: {"flowchart": {"wrappingWidth": 400}}}%%
flowchart TB
  X["X: one vector per token<br/>n × d_model"]
  X --> Q["Q = X W_Q<br/>n × d_k"]
  X --> K["K = X W_K<br/>n × d_k"]
  X --> V["V = X W_V<br/>n × d_v"]
  Q --> S["Scores = Q Kᵀ ÷ √d_k<br/>n × n"]
  K --> S
  S --> M["Masked scores<br/>future = −∞"]
  M --> P["Pattern = softmax of each row<br/>n × n"]
  P --> O["Output = pattern × V<br/>n × d_v"]
  V --> O
  O -.-> W["W_O, back to d_model<br/>left out here"]
  W -.-> R["X + output<br/>n × d_model"]
  X --> R
"""

STAGES_IN_WORDS = """
The head makes three lists of numbers out of a token's vector x, with one learned table for each.

- **q = x W_Q** is a question, **k = x W_K** an offer that questions are compared with, and
  **v = x W_V** the content others can take.
- The score of a pair is q·k: large when the one token's question fits the other's offer.
- The mask sets the score of every later token to −∞. The softmax makes weights of each row of
  scores: none below 0, together 1.
- The output is the sum of all v, each times its weight. It is added to x, so what x held stays.

**Where W_O goes.** Here W_V keeps all 16 dimensions (d_v = d_model), so the output fits onto X as
it is. In a transformer each of many heads makes a shorter output. They are laid side by side, and
one more matrix, the output projection W_O, brings them back to d_model before they are added. This
head leaves it out. The article counts it with each head, as the way up of the value step.

**The heads set by hand.** One lets nouns ask for adjectives and takes the qualities these name. The
other lets “bank” ask whether its neighbours are about water or money, and shifts it that way. Each
uses one or two numbers of q and k; the rest are 0, so a larger d_k only divides its scores by more.
"""

LIMITS = (
    "The lexicon and two of the heads are made by hand. A trained model finds its own numbers, and "
    "its dimensions have no names.",
    "The mask is the only trace of the order here. With two nouns, the later one takes the "
    "adjectives of both. Under “Word order” positions are added.",
    "This is one head in one layer, without W_O, biases or layer norm. The article tells these "
    "stories in words; its text gives no numbers for them.",
    "A softmax must put its weight somewhere. A word that asks nothing takes the plain average of "
    "the values it may look at, so words such as “the” turn a little as well.",
)
