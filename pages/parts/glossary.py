"""Every symbol of the lab, explained once, and opened where it stands."""

import streamlit as st

from pages.parts.present import presenting

SYMBOLS = {
    "token": "A piece of text, here one word. Each token has one vector.",
    "vector": "A list of numbers that stands for a token.",
    "embedding": "The learned vector of a token, or of a part of it, looked up in a table.",
    "n": "How many tokens there are.",
    "d_model": "How many numbers a token's vector has.",
    "d_k": "How many numbers a query and a key vector have.",
    "x, X": "The vector of one token, and the table of all of them: a row for each token.",
    "W_Q, W_K, W_V": "The three learned tables that turn a token's vector into its query, its "
    "key vector and its value vector.",
    "W_O": "The output projection: it turns what a head found back into a token's vector.",
    "query, q, Q": "What a token looks for in the others. Q: the table of all queries.",
    "key vector, k, K": "What a token can be found by: queries are compared with it. Its key, for "
    "short, where no pairs have keys. K: all of them.",
    "value vector, v, V": "What is taken from a token, as much as its weight says. Its value, for "
    "short, where no pairs have values. V: all of them.",
    "pair, key, value": "A fact of the sequence, such as 3:0. Its key, 3, is what is asked about; "
    "its value, 0, is the answer. To look it up is called associative recall.",
    "score": "q · k ÷ √d_k: how well one token's query fits another's key vector.",
    "q · k": "The dot product: multiply number by number and add up. Large when two vectors "
    "point the same way.",
    "√d_k": "The square root of d_k. Scores are divided by it so that they do not grow with d_k.",
    "softmax": "Turns a row of scores into weights that are positive and sum to 1.",
    "sigmoid": "Turns one score into a weight between 0 and 1, whatever the other scores are.",
    "weight": "How much of a token's value vector is taken: between 0 and 1.",
    "attention sink": "A token that gets much weight whatever it says.",
    "pattern": "The table of all weights: a row for each token that asks.",
    "head": "One set of W_Q, W_K and W_V, with the pattern they make.",
    "causal mask": "The rule that no token may look at a later one: those scores become −∞.",
    "−∞": "Minus infinity. After softmax its weight is exactly 0.",
    "cosine": "How far two vectors point the same way: 1 the same, 0 unrelated, −1 opposite.",
    "seed": "The number that fixes all random draws, so that the same settings give the same run.",
    "loss": "How wrong the answers are, in nats: −ln of the probability of the right answer, "
    "averaged.",
    "accuracy": "The share of questions answered rightly.",
    "chance": "The share right by blind guessing: 1 ÷ the number of possible answers.",
    "ceiling": "The best accuracy that any answer without attention can reach.",
    "ceiling of one head": "The best share of questions that any single head can get right.",
    "cross-entropy": "A loss: −ln of the probability that the right answers were given.",
    "fewest errors": "A goal: as high a probability of the right answers as possible, on average.",
    "position": "Where a token stands in its sequence: 0 is the first.",
    "learned positions": "A trained vector for each position, added to the embedding.",
    "sinusoidal": "A fixed vector of waves for each position, added to the embedding.",
    "RoPE": "Rotary positions: queries and key vectors are turned by an angle that grows with the "
    "position.",
    "ALiBi": "Each score loses a fixed amount for each position between the two tokens.",
    "ceiling without positions": "The best accuracy that is possible without knowing the order.",
    "logits": "The scores of the possible answers, before softmax makes probabilities of them.",
    "E_key, E_value": "The embeddings of the pairs' keys and of their values.",
    "QK circuit": "How strongly a question about each key looks at each part of a token.",
    "OV circuit": "What each part of a token adds to the logits when it is looked at.",
    "gradient": "How the loss changes when one parameter is nudged.",
    "backward pass": "Working from the loss back to every parameter, to get all gradients at once.",
    "batch": "How many sequences are looked at in one training step.",
    "learning rate": "How far one training step moves the parameters.",
    "Adam, SGD": "Two ways to step: SGD follows the gradient; Adam also scales each step by how "
    "large the gradients have been.",
    "standard error": "How far a measured share would move, typically, with other samples.",
    "parameter": "One learned number of a model.",
    "d_ff": "How many numbers the feed-forward block has in its middle.",
    "d_head": "How many numbers a query, a key vector and a value vector of one head have.",
    "grouped-query attention": "Several heads share a key vector and a value vector of a token.",
    "gated feed-forward": "A feed-forward block with a third table that opens and closes paths.",
    "feed-forward": "The block after attention. It works on each token by itself.",
    "multiply-add": "One multiplication and the addition of its result: the unit of work here.",
    "context": "The tokens that can be looked at.",
    "expert": "One of several feed-forward blocks in a layer. A token is sent to a few of them.",
    "router": "A small table that picks the experts for a token.",
    "key–value cache": "Key and value vectors of the tokens so far, kept for the next one to look "
    "at.",
    "prefill": "Reading a prompt: all its tokens are worked on at once.",
    "decode": "Writing: one token at a time, each from all before it.",
    "window": "How many tokens a layer looks back at most.",
    "short vector": "In DeepSeek, what key and value vectors of all heads are made out of.",
    "MiB, GiB": "1,048,576 bytes, and 1,073,741,824 bytes.",
    "float32": "A number stored in 4 bytes.",
    "row block": "A group of query rows computed together and then thrown away.",
    "n²": "n times n.",
}


def introduce(text: str, *symbols: str) -> None:
    """Draw a button that opens what the page's symbols mean, and a few sentences of introduction.

    On a projector the teacher introduces the page: both are in the button, at the page's edge.

    Args:
        text: the sentences, in Markdown.
        *symbols: in the order in which they are explained.

    Raises:
        KeyError: if a symbol has no entry in `SYMBOLS`.
    """
    meanings = "\n".join(f"- **{symbol}** {SYMBOLS[symbol]}" for symbol in symbols)
    if presenting():
        with (
            st.container(key="about"),
            st.popover("What this page is about", icon=":material/help:"),
        ):
            st.markdown(f"{text}\n\n{meanings}")
        return
    with st.popover("What the symbols mean", icon=":material/help:"):
        st.markdown(meanings)
    st.markdown(text)
