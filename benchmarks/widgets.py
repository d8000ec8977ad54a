"""Widgets as Streamlit's protocol describes them: their values, and values to move them to."""

import random
from dataclasses import dataclass

from streamlit.proto.Element_pb2 import Element
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

Value = float | str | bool

FIELDS = {  # an element's type in the protocol -> where the state of such a widget holds its value
    "slider": "double_array_value",  # string_array_value, if the slider is over words
    "checkbox": "bool_value",
    "radio": "string_value",
    "selectbox": "string_value",
    "text_input": "string_value",
    "text_area": "string_value",
    "number_input": "double_value",
    "button": "trigger_value",
}


@dataclass(kw_only=True)
class Widget:
    """A widget on a student's page."""

    identity: str  # the server's name for it
    kind: str  # the element's type in the protocol
    field: str  # the field of `WidgetState` its value goes into
    parameter: str  # its name in the link; empty when it is not bound
    value: tuple[Value, ...]  # one, or none
    default: tuple[Value, ...]
    fragment: str  # the part of the page that runs when it changes; empty for the whole page
    set_by_server: bool  # whether the value is the server's, not what the student left there
    words: tuple[str, ...] = ()  # the options, for a choice of words
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0

    @property
    def key(self) -> str:
        """The key the program gave it; empty when it gave none."""
        key = self.identity.split("-", 2)[-1]
        return "" if key == "None" else key

    def state(self) -> WidgetState | None:
        """Return what the browser reports of it: nothing of a button that is not pressed."""
        if self.kind == "button" and not self.value:
            return None
        state = WidgetState(id=self.identity)
        if not self.value:
            return state  # a choice of which nothing is chosen
        if self.field.endswith("array_value"):
            getattr(state, self.field).data.extend(self.value)
        else:
            setattr(state, self.field, self.value[0])
        return state

    def in_link(self) -> str:
        """Write the value as the browser writes it into the link: 5.0 as 5."""
        value = self.value[0]
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value)

    def other_value(self, rng: random.Random) -> Value:
        """Draw one of the places the slider may stand at, but where it is."""
        if self.words:
            return rng.choice([word for word in self.words if (word,) != self.value])
        n = round((self.high - self.low) / self.step)
        here = round((float(self.value[0]) - self.low) / self.step)
        there = rng.choice([*range(here), *range(here + 1, n + 1)] or [here])
        # Rounded, as 3 × 0.1 is not 0.3.
        place: float = round(self.low + there * self.step, 10)
        return place


def widget_in(element: Element, fragment: str) -> Widget | None:
    """Read the widget out of an element; None if it holds none of the known kinds."""
    kind = element.WhichOneof("type")
    if kind not in FIELDS:
        return None
    proto = getattr(element, kind)
    if kind == "slider":
        return _slider(proto, fragment)
    default: tuple[Value, ...] = ()
    value: tuple[Value, ...] = ()
    if kind in ("radio", "selectbox"):
        default = (proto.options[proto.default],) if proto.HasField("default") else ()
        given = (proto.raw_value,) if proto.HasField("raw_value") else ()
        value = given if proto.set_value else default
    elif kind != "button":
        default = (proto.default,)
        value = (proto.value,) if proto.set_value else default
    return Widget(
        identity=proto.id,
        kind=kind,
        field=FIELDS[kind],
        parameter="" if kind == "button" else proto.query_param_key,
        value=value,
        default=default,
        fragment=fragment,
        set_by_server=kind != "button" and proto.set_value,
        words=tuple(proto.options) if kind in ("radio", "selectbox") else (),
    )


def _slider(proto: Slider, fragment: str) -> Widget:
    words = tuple(proto.options) if proto.type == Slider.SELECT_SLIDER else ()
    default: tuple[Value, ...] = (
        tuple(words[int(i)] for i in proto.default) if words else tuple(proto.default)
    )
    given: tuple[Value, ...] = tuple(proto.raw_value) if words else tuple(proto.value)
    return Widget(
        identity=proto.id,
        kind="slider",
        field="string_array_value" if words else FIELDS["slider"],
        parameter=proto.query_param_key,
        value=given if proto.set_value else default,
        default=default,
        fragment=fragment,
        set_by_server=proto.set_value,
        words=words,
        low=proto.min,
        high=proto.max,
        step=proto.step,
    )
