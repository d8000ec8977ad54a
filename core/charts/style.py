"""One visual language: a colour for each meaning, the same in every chart and in both themes."""

from typing import Any

import altair as alt

# Chosen by luminance so that each has at least 3:1 contrast against the light background and
# against the dark one; pairs that meet in one chart also differ in shape or dash.
COLOURS = {
    "query": "#3b7dd8",
    "key": "#bf6b10",
    "value": "#17917a",
    "matching pair": "#17917a",
    "other pairs": "#82868c",
    "question": "#b8569b",
    "right answer": "#17917a",
    "other values": "#82868c",
    "learned": "#3b7dd8",
    "uniform": "#bf6b10",
    "your changes": "#3b7dd8",
    "unchanged": "#82868c",
    "chance": "#82868c",
    "ceiling": "#8d68c9",
    "article": "#b8569b",
    "measured": "#3b7dd8",
    "with mask": "#3b7dd8",
    "without mask": "#bf6b10",
    "before the head": "#82868c",
    "after the head": "#3b7dd8",
    "with ÷ √d_k": "#3b7dd8",
    "without ÷ √d_k": "#bf6b10",
    "prediction": "#82868c",
    "embeddings": "#17917a",
    "attention": "#3b7dd8",
    "feed-forward": "#bf6b10",
    "biases and norms": "#82868c",
    "formula": "#bf6b10",
    "row blocks": "#3b7dd8",
    "n²": "#82868c",
    "cap": "#b8569b",
    "read or written": "#17917a",
    "not in memory": "#82868c",
    "never computed": "#b8569b",
    "its matrices": "#3b7dd8",
    "looking back": "#3b7dd8",
    "crossing": "#8d68c9",
    "chosen context": "#b8569b",
    "context made for": "#82868c",
    "cache at 16 bits": "#3b7dd8",
    "cache at 8 bits": "#17917a",
    "cache at 4 bits": "#bf6b10",
    "weights at 16 bits": "#82868c",
    "one head": "#bf6b10",
    "several heads": "#3b7dd8",
    "both right": "#3b7dd8",
    "first right": "#17917a",
    "second right": "#b8569b",
    "whole head again": "#bf6b10",
    "K and V again": "#8d68c9",
    "key–value cache": "#3b7dd8",
    "all at once": "#17917a",
    "one for each head": "#bf6b10",
    "as chosen": "#3b7dd8",
    "one for all heads": "#17917a",
    "no positions": "#82868c",
    "sinusoidal": "#17917a",
    "rotary (RoPE)": "#bf6b10",
    "ALiBi": "#b8569b",
    "as written": "#3b7dd8",
    "reordered": "#bf6b10",
}

# The text's own colour, which the page sets for each theme; Streamlit's grey for axes has a
# contrast of 3.7 to 1 on white, where 4.5 is the least for text of this size.
_TEXT = {"labelColor": "currentColor", "titleColor": "currentColor"}

# For an axis with a long title: it ends where the plot does, so that on a phone it goes on below
# the labels at the left instead of being cut at the right.
LONG_TITLE: dict[str, Any] = {"titleAnchor": "end"}

_NAME = 18  # pixels in height of a line's name

CHART_HEIGHT = 320  # pixels; every chart keeps one height, so that nothing below it moves


def colour_scale(*meanings: str) -> alt.Scale:
    """Return the fixed colour scale for these meanings, in this order.

    Raises:
        KeyError: if a meaning has no colour yet; add it to `COLOURS`.
    """
    return alt.Scale(domain=list(meanings), range=[COLOURS[meaning] for meaning in meanings])


def diverging(limit: float) -> alt.Scale:
    """Return the colour scale for values around 0, full at ±limit and beyond.

    The middle of the domain makes Vega-Lite take the theme's diverging colours.
    """
    return alt.Scale(domain=[-limit, limit], domainMid=0, clamp=True, interpolate="rgb")


def spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart's Vega-Lite specification without its data.

    A page sends this constant together with a fresh frame, so that a rerun swaps the data in
    place and nothing is laid out again.
    """
    # Altair's check against the schema takes three quarters of the time, up to 33 ms in which no
    # other visitor is served; the tests check every chart.
    specification = chart.to_dict(validate=False)
    for name in ("datasets", "$schema", "config"):
        specification.pop(name, None)
    _drop_stand_in(specification)
    _write_in_text_colour(specification)
    # Streamlit draws more than 2,000 marks on a canvas, where the text's own colour would be black
    # in the dark theme too, and where a screen reader finds nothing.
    specification["usermeta"] = {"embedOptions": {"renderer": "svg"}}
    specification["config"] = {part: dict(_TEXT) for part in ("axis", "legend", "header")}
    # A chart is one image with its text alternative, its live sentence and its table; its marks
    # one by one, up to 4,096 of them, some without a name, would be noise to a screen reader.
    specification["config"]["mark"] = {"aria": False}
    return specification


def short_of_foot() -> dict[str, Any]:
    """Return the height of a vertical line that leaves the foot of the plot to another's name."""
    return {"y": alt.value(0), "y2": alt.value({"expr": f"height - {_NAME}"})}


def short_of_head() -> dict[str, Any]:
    """Return the height of a vertical line that leaves the head of the plot to another's name."""
    return {"y": alt.value(_NAME), "y2": alt.value("height")}


def no_data() -> alt.NamedData:
    """Return the stand-in for the frame that the page supplies."""
    return alt.NamedData("frame")


def _write_in_text_colour(part: Any) -> None:  # noqa: ANN401 - any JSON value
    """Give words in a mark's colour the text's own: a mark needs a contrast of 3, a text 4.5.

    No colour has 4.5 on both grounds, the white and the dark one: 4.26 is the most.
    """
    if isinstance(part, dict):
        mark = part.get("mark")
        if isinstance(mark, dict) and mark.get("type") == "text" and "color" in mark:
            mark["color"] = "currentColor"
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            _write_in_text_colour(inner)


def _drop_stand_in(part: Any) -> None:  # noqa: ANN401 - any JSON value
    if isinstance(part, dict):
        if part.get("data") == {"name": "frame"}:
            del part["data"]
        for inner in part.values():
            _drop_stand_in(inner)
    elif isinstance(part, list):
        for inner in part:
            _drop_stand_in(inner)
