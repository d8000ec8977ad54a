"""What the tests of two facts share: random models, and the model once more in autograd."""

import autograd.numpy as anp
import numpy as np
from autograd import grad
from hypothesis import strategies as st

from core.two_facts import ORDERS, sample_two_facts
from core.two_facts_model import HEADS_MATRICES, HeadsParameters, HeadsShape, start_heads


@st.composite
def heads_tasks(draw):
    """A few heads with random parameters, and sequences for them."""
    shape = HeadsShape(
        n_heads=draw(st.integers(1, 4)),
        n_keys=draw(st.integers(2, 7)),
        n_values=draw(st.integers(2, 7)),
        d_model=draw(st.integers(1, 8)),
        d_k=draw(st.integers(1, 8)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parameters = start_heads(shape, draw(st.sampled_from([0.1, 0.5, 1.0])), rng)
    sequences = sample_two_facts(
        draw(st.integers(1, 12)),
        draw(st.integers(2, shape.n_keys)),
        shape.n_keys,
        shape.n_values,
        draw(st.sampled_from(ORDERS)),
        rng,
    )
    return parameters, sequences


def loss_in_autograd(matrices, sequences, q, values_in_keys):
    """The mean loss, one sequence, head and token at a time, in a differentiating library's NumPy.

    Written from the description of the model, and sharing nothing with core.
    """
    w_q, w_k, e_first, e_second, e_key, e_value, w_v, w_o = matrices
    n_heads, _, d_k = w_q.shape
    n_values = len(e_value)
    total = 0.0
    for keys, values, (one, other), right in zip(
        sequences.keys, sequences.values, sequences.asked, sequences.answers, strict=True
    ):
        question = e_first[keys[one]] + e_second[keys[other]]
        logits = 0.0
        for h in range(n_heads):
            scores, handed_over = [], []
            for key, value in zip(keys, values, strict=True):
                pair = e_key[key] + e_value[value]
                advertised = pair if values_in_keys else e_key[key]
                query = anp.dot(question, w_q[h])
                scores.append(anp.dot(query, anp.dot(advertised, w_k[h])) / anp.sqrt(d_k))
                handed_over.append(anp.dot(pair, w_v[h]))
            exponentials = [anp.exp(score) for score in scores]
            output = sum(e * v for e, v in zip(exponentials, handed_over, strict=True))
            logits = logits + anp.dot(output / sum(exponentials), w_o[h])
        log_p = 0.0
        for answer, part in zip(right, (logits[:n_values], logits[n_values:]), strict=True):
            log_p = log_p + part[answer] - anp.log(anp.sum(anp.exp(part)))
        total = total + (-log_p if q == 0 else (1 - anp.exp(log_p) ** q) / q)
    return total / len(sequences.keys)


def gradient_by_autograd(parameters, sequences, q, values_in_keys=False):
    matrices = [np.array(getattr(parameters, name)) for name in HEADS_MATRICES]
    gradients = grad(loss_in_autograd)(matrices, sequences, q, values_in_keys)
    return HeadsParameters(np.concatenate([g.ravel() for g in gradients]), parameters.shape)
