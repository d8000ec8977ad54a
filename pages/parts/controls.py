"""Controls whose values live in the page's link, and settings made from them.

A control's key is the name of the settings field it fills and of the parameter in the link.
"""

import math
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st

from pages.parts.moving import draw_later, forget_charts
from pages.parts.present import presenting, shown

Value = int | float | str | bool
S = TypeVar("S")

_PAGE = "page_open"  # the page the visitor is on
_DRAWN = "controls_drawn"  # the controls drawn on it, by key
_NOTES = "notes_on_the_link"  # mended in an earlier run, shown until a control moves


@dataclass(frozen=True, kw_only=True)
class Control:
    """What every control has: its key, its label with the unit, and one line of help."""

    key: str
    label: str
    help: str | None = None


@dataclass(frozen=True, kw_only=True)
class Slider(Control):
    """A number between two ends; all whole numbers, or all floats."""

    low: float
    high: float
    default: float
    step: float = 1

    def draw(self) -> Value:
        """Put the slider on the page and return its value."""
        value: Value = st.slider(
            self.label,
            self.low,
            self.high,
            self.default,
            self.step,
            # Thousands apart, as in the text.
            format="%,d" if isinstance(self.default, int) else None,
            key=self.key,
            help=self.help,
            bind="query-params",
        )
        return value

    def mend(self, text: str) -> tuple[Value, str] | None:
        """Return the nearest allowed value and the rule ``text`` breaks, or None if it fits."""
        whole = isinstance(self.default, int)
        rule = f"{'a whole number' if whole else 'a number'} from {self.low:,} to {self.high:,}"
        try:
            number = float(text)
        except ValueError:
            return self.default, rule
        # NaN is neither; an infinity is past one of the ends, which is then the nearest value.
        if math.isnan(number) or (whole and math.isfinite(number) and number != round(number)):
            return self.default, rule
        if self.low <= number <= self.high:
            return None
        return (self.low if number < self.low else self.high), rule

    def read(self, text: str) -> Value:
        """Return the value that a fitting text in the link stands for."""
        return int(float(text)) if isinstance(self.default, int) else float(text)


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of a few values: ``kind`` is how it looks ("slider" for ordered values)."""

    options: tuple[Value, ...]
    default: Value
    kind: str = "select"
    show: Callable[[Any], str] = str  # how an option is written

    def draw(self) -> Value:
        """Put the choice on the page and return its value."""
        shared: dict[str, Any] = {
            "key": self.key,
            "help": self.help,
            "bind": "query-params",
            "format_func": self.show,
        }
        value: Value
        if self.kind == "slider":
            value = st.select_slider(self.label, self.options, self.default, **shared)
        elif self.kind == "radio":
            index = self.options.index(self.default)
            value = st.radio(self.label, self.options, index, horizontal=True, **shared)
        else:
            index = self.options.index(self.default)
            value = st.selectbox(self.label, self.options, index, **shared)
        return value

    def mend(self, text: str) -> tuple[Value, str] | None:
        """Return the default and the rule that ``text`` breaks, or None if it is an option."""
        names = [self.show(option) for option in self.options]
        if text in names:
            return None
        shown = ", ".join(names) if len(names) < 8 else f"{names[0]}, {names[1]} … {names[-1]}"
        return self.default, f"one of {shown}"

    def read(self, text: str) -> Value:
        """Return the option that a fitting text in the link stands for."""
        return next(option for option in self.options if self.show(option) == text)


@dataclass(frozen=True, kw_only=True)
class Switch(Control):
    """On or off."""

    default: bool

    def draw(self) -> Value:
        """Put the switch on the page and return its value."""
        return st.toggle(
            self.label, self.default, key=self.key, help=self.help, bind="query-params"
        )

    def mend(self, text: str) -> tuple[Value, str] | None:
        """Return the default and the rule that ``text`` breaks, or None if it is on or off."""
        if text.lower() in ("true", "false", "1", "0"):
            return None
        return self.default, "true or false"

    def read(self, text: str) -> Value:
        """Return whether a fitting text in the link means on."""
        return text.lower() in ("true", "1")


@dataclass(frozen=True, kw_only=True)
class Text(Control):
    """A line of the student's own; any text is let through, the settings judge it."""

    default: str

    def draw(self) -> Value:
        """Put the line on the page and return what it holds."""
        return st.text_input(
            self.label, self.default, key=self.key, help=self.help, bind="query-params"
        )

    def mend(self, text: str) -> None:
        """Return None: every text fits."""

    def read(self, text: str) -> Value:
        """Return the text."""
        return text


AnyControl = Slider | Choice | Switch | Text


def draw(controls: Sequence[AnyControl], first: int = 6) -> dict[str, Any]:
    """Draw the controls, a button back to the article's settings and the link; return the values.

    A value in the link that breaks a control's rule is replaced by the nearest allowed one, and a
    note says so. Those after the ``first`` are folded away. Where the answer comes first, they are
    drawn after it as soon as their values are known.
    """
    place = st.container()

    def draw_all() -> dict[str, Any]:
        with place:
            return _draw_all(controls, first)

    known = all(control.key in st.session_state for control in controls)
    if known and draw_later(draw_all):
        return {control.key: st.session_state[control.key] for control in controls}
    return draw_all()


def set_controls(controls: Sequence[AnyControl], values: dict[str, Any]) -> None:
    """Set every control before the next run: those without a value to their defaults."""
    set_some(controls, {control.key: control.default for control in controls} | values)


def set_some(controls: Sequence[AnyControl], values: dict[str, Any]) -> None:
    """Set the controls that have a value before the next run, and leave the others as they are."""
    for control in controls:
        if control.key not in values:
            continue
        value = values[control.key]
        st.session_state[control.key] = value
        if not shown(control.key):
            # Streamlit writes to the link only what a control on the page holds.
            st.query_params[control.key] = _in_link(control, value)


def forget_other_pages(path: str) -> None:
    """Let go of the controls' values when a visitor comes from another page.

    Pages name their controls after settings fields, so several have a ``seed`` or ``n_pairs``, each
    with limits of its own. Streamlit keeps the value of a control that is bound to the link for the
    whole visit, and would hand it to the next page's control of the same name.
    """
    if st.session_state.get(_PAGE) != path:
        for key in _drawn():
            st.session_state.pop(key, None)
        _drawn().clear()
        forget_charts()
        st.session_state[_PAGE] = path


def settings_from(
    make: Callable[..., S], controls: Sequence[AnyControl], values: dict[str, Any]
) -> S:
    """Make the settings, or say in one sentence what is wrong and end the page's run there."""
    settings = settings_or_none(make, controls, values)
    if settings is None:
        st.stop()
    return settings


def settings_or_none(
    make: Callable[..., S], controls: Sequence[AnyControl], values: dict[str, Any]
) -> S | None:
    """Make the settings, or say in one sentence what is wrong.

    For a fragment: ending the run there would, on a first visit, keep the rest of the page away
    for good.
    """
    try:
        return make(**values)
    except ValueError as error:
        st.warning(plain(in_words(str(error), controls)))
        return None


def keep_at_most(
    values: dict[str, Any], controls: Sequence[AnyControl], key: str, most: int
) -> dict[str, Any]:
    """Return the values with one lowered to what the others allow, and a note if it was."""
    if values[key] <= most:
        return values
    label = next(control.label for control in controls if control.key == key)
    st.info(f"“{label}” can be at most {most:,} here. You chose {values[key]:,}; {most:,} is used.")
    return {**values, key: most}


def in_words(sentence: str, controls: Sequence[AnyControl]) -> str:
    """Put the labels the student sees in place of the names of the fields.

    >>> in_words("n must be at least 2, got 1", [Slider(key="n", label="Tokens", low=1, high=9,
    ...                                                 default=3)])
    '“Tokens” must be at least 2, got 1'
    """
    for control in controls:
        sentence = re.sub(rf"\b{re.escape(control.key)}\b", f"“{control.label}”", sentence)
    return sentence


def plain(text: str) -> str:
    r"""Escape what Markdown would take for markup, so that a student's text is shown as typed.

    >>> print(plain("a*b $x$"))
    a\*b \$x\$
    """
    return re.sub(r"([\\`*_{}\[\]()#+!|~<>$:&-])", r"\\\1", text)


def _draw_all(controls: Sequence[AnyControl], first: int) -> dict[str, Any]:
    _drawn().update({control.key: control for control in controls})
    _mend_link(controls)
    notes = st.container() if _notes_key(controls) in st.session_state else None
    values: dict[str, Any] = {}
    for control in controls[:first]:
        values[control.key] = _value_of(control)
    if controls[first:]:
        # Folded, so that on a phone the first chart is not a dozen sliders away.
        with _place_for_more(controls[first:]):
            for control in controls[first:]:
                values[control.key] = _value_of(control)
    if notes is not None:
        with notes:
            _show_notes(controls, values)
    if not presenting():
        st.button(
            "Back to the defaults",
            key=f"reset_{controls[0].key}",
            on_click=set_controls,
            args=(tuple(controls), {}),
            width="stretch",
        )
        # Its content is made when it is opened: it changes with every control.
        links = st.popover(
            "Link to this experiment",
            width="stretch",
            key=f"links_{controls[0].key}",
            on_change="rerun",
        )
        if links.open:
            with links:
                _links(controls, values)
    return values


def _mend_link(controls: Sequence[AnyControl]) -> None:
    """Put the nearest allowed value in place of each bad one in the link, and say so."""
    notes = []
    for control in controls:
        text = st.query_params.get(control.key)
        if text is None or control.key in st.session_state:
            continue
        mended = control.mend(text)
        if mended is not None:
            value, rule = mended
            written = _in_link(control, value)
            st.query_params[control.key] = written
            shown = text if len(text) <= 40 else f"{text[:40]}…"
            notes.append(
                f"“{control.label}” must be {rule}. The link said {shown}; {written} is used."
            )
    if notes:
        # Streamlit reads the link as it stood when the run began, so the mended one needs its own.
        st.session_state[_notes_key(controls)] = (notes, None)
        st.rerun()


def _show_notes(controls: Sequence[AnyControl], values: dict[str, Any]) -> None:
    """Show the notes until a control moves: a page may draw itself anew before they are read."""
    notes, mended = st.session_state[_notes_key(controls)]
    if mended not in (None, values):
        del st.session_state[_notes_key(controls)]
        return
    st.session_state[_notes_key(controls)] = (notes, dict(values))
    for note in notes:
        st.info(plain(note))


def _notes_key(controls: Sequence[AnyControl]) -> str:
    return f"{_NOTES}_{controls[0].key}"


def _value_of(control: AnyControl) -> Value:
    if shown(control.key):
        return control.draw()
    # A hidden control can still be set: by a telling case, a preset, a click on a chart.
    if control.key in st.session_state:
        value: Value = st.session_state[control.key]
        return value
    text = st.query_params.get(control.key)
    return control.default if text is None else control.read(text)


def _place_for_more(controls: Sequence[AnyControl]) -> AbstractContextManager[object]:
    if presenting():
        return nullcontext()
    return st.expander(f"{len(controls)} more controls")


def _links(controls: Sequence[AnyControl], values: dict[str, Any]) -> None:
    address = (st.context.url or "").split("?")[0]
    changed = _from_other_groups(controls) | {
        control.key: _in_link(control, values[control.key])
        for control in controls
        if values[control.key] != control.default
    }
    st.caption("This address opens the page with the settings you see.")
    _show_link(address, changed)
    labels = {control.key: control.label for control in controls}
    st.caption("For a projector: larger, with only the controls you pick.")
    picked = st.multiselect(
        "Controls to keep",
        list(labels),
        format_func=lambda key: labels[key],
        key=f"present_{controls[0].key}",
    )
    _show_link(address, changed | {"present": "1", "show": ",".join(picked)})


def _from_other_groups(controls: Sequence[AnyControl]) -> dict[str, str]:
    """Return what controls further up or down the page hold, as far as it is not the default."""
    here = {control.key for control in controls}
    others = {key: control for key, control in _drawn().items() if key not in here}
    # In a visit's first run, groups further down are known from the link alone.
    in_link = {
        key: text
        for key, text in st.query_params.items()
        if key not in here | others.keys() | {"present", "show"}
    }
    return in_link | {
        key: _in_link(control, st.session_state[key])
        for key, control in others.items()
        if key in st.session_state and st.session_state[key] != control.default
    }


def _drawn() -> dict[str, AnyControl]:
    drawn: dict[str, AnyControl] = st.session_state.setdefault(_DRAWN, {})
    return drawn


def _show_link(address: str, parameters: dict[str, str]) -> None:
    link = f"{address}?{urlencode(parameters, safe=',')}" if parameters else address
    st.code(link, language=None, wrap_lines=True)


def _in_link(control: AnyControl, value: Value) -> str:
    """Write a value as Streamlit does in a link: an option of a choice by its shown name."""
    return control.show(value) if isinstance(control, Choice) else str(value)
