"""What the tests of the recall model share: random models, and the model once more in autograd."""

import autograd.numpy as anp
import numpy as np
from autograd import grad
from hypothesis import strategies as st

from core.recall import MATRICES, ModelShape, Parameters, sample_sequences, start_parameters


@st.composite
def tasks(draw):
    """A model with random parameters, and sequences for it."""
    shape = ModelShape(
        n_keys=draw(st.integers(1, 9)),
        n_values=draw(st.integers(2, 9)),
        d_model=draw(st.integers(1, 12)),
        d_k=draw(st.integers(1, 12)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parameters = start_parameters(shape, draw(st.sampled_from([0.1, 0.5, 1.0])), rng)
    n_pairs = draw(st.integers(1, shape.n_keys))
    sequences = sample_sequences(
        draw(st.integers(1, 20)), n_pairs, shape.n_keys, shape.n_values, rng
    )
    return parameters, sequences


def loss_in_autograd(matrices, sequences, values_in_keys):
    """The mean loss, one sequence and one token at a time, in a differentiating library's NumPy.

    Written from the description of the model, and sharing nothing with core.
    """
    w_q, w_k, e_key, e_value, w_v, w_o = matrices
    total = 0.0
    for keys, values, question, right in zip(
        sequences.keys, sequences.values, sequences.questions, sequences.answers, strict=True
    ):
        tokens = [(e_key[k], e_value[v]) for k, v in zip(keys, values, strict=True)]
        tokens.append((e_key[question], 0.0 * e_value[0]))
        query = anp.dot(e_key[question], w_q)
        scores, handed_over = [], []
        for key_part, value_part in tokens:
            advertised = key_part + value_part if values_in_keys else key_part
            scores.append(anp.dot(query, anp.dot(advertised, w_k)) / anp.sqrt(w_q.shape[1]))
            handed_over.append(anp.dot(key_part + value_part, w_v))
        exponentials = [anp.exp(score) for score in scores]
        output = sum(e * v for e, v in zip(exponentials, handed_over, strict=True))
        logits = anp.dot(output / sum(exponentials), w_o)
        total = total + anp.log(anp.sum(anp.exp(logits))) - logits[right]
    return total / len(sequences.questions)


def gradient_by_autograd(parameters, sequences, values_in_keys=True):
    matrices = [np.array(getattr(parameters, name)) for name in MATRICES]
    gradients = grad(loss_in_autograd)(matrices, sequences, values_in_keys)
    return Parameters(np.concatenate([g.ravel() for g in gradients]), parameters.shape)
