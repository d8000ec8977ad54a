"""A chart that is read from the back of a room."""

from typing import Any

_LARGER = 1.3  # times the size that a chart itself gives to some of its words
_OWN = ("fontSize", "labelFontSize", "titleFontSize")
# A legend that is narrow for a phone has room for these here; 0 is all of it in one row.
_COLUMNS = {"top": 0, "bottom": 3}
# Pixels, for all its other words.
_SIZES = {
    "axis": {"labelFontSize": 17, "titleFontSize": 18},
    "legend": {"labelFontSize": 17, "titleFontSize": 18},
    "header": {"labelFontSize": 17, "titleFontSize": 18},
    "text": {"fontSize": 16},
}


def enlarge_words(specification: dict[str, Any]) -> None:
    """Make every word larger in a chart's specification, which has its settings in ``config``.

    >>> chart = {"mark": {"type": "text", "fontSize": 10}, "config": {"axis": {}}}
    >>> enlarge_words(chart)
    >>> chart["mark"]["fontSize"], chart["config"]["text"]["fontSize"]
    (13.0, 16)
    """
    config = specification["config"]
    _enlarge_own(specification)
    for part, sizes in _SIZES.items():
        config.setdefault(part, {}).update(sizes)


def _enlarge_own(part: Any) -> None:  # noqa: ANN401 - any JSON value
    if isinstance(part, dict):
        words = part.get("type") == "text"
        if "columns" in part and part.get("orient") in _COLUMNS:
            part["columns"] = _COLUMNS[part["orient"]]
        for name, inner in part.items():
            if name in _OWN or (words and name in ("dx", "dy")):
                part[name] = inner * _LARGER
            else:
                _enlarge_own(inner)
    elif isinstance(part, list):
        for inner in part:
            _enlarge_own(inner)
