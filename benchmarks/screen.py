"""What stands on a student's page: widgets and words, drawn and dropped as in the browser."""

from collections.abc import Collection
from dataclasses import dataclass, field

from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.widgets import Widget, widget_in

WORDS = {  # an element's type in the protocol -> where it holds its words
    "markdown": "body",
    "alert": "body",
    "heading": "body",
    "text": "body",
    "progress": "text",
    "html": "body",
}
CHARTS = ("arrow_vega_lite_chart", "vega_lite_chart")  # what a chart is called in the protocol
# How long a large element stays in the cache: Streamlit's maxCachedMessageAge. The lab's settings
# leave that cache empty; should they no longer do so, it is as in the browser.
KEPT_RUNS = 2

Place = tuple[int, ...]
"""Where an element stands: its path from the root of the page."""


@dataclass(kw_only=True)
class Drawn:
    """An element on the page."""

    fragment: str  # the fragment that drew it; empty for the page itself
    words: str | None = None
    widget: Widget | None = None
    error: str | None = None


@dataclass(kw_only=True)
class Screen:
    """One page, as far as a test or a benchmark looks at it."""

    elements: dict[Place, Drawn] = field(default_factory=dict)
    _fresh: set[Place] = field(default_factory=set)  # drawn in the run in progress
    _large: dict[str, tuple[int, Delta]] = field(default_factory=dict)  # hash: last run, element
    _runs: int = 0

    @property
    def widgets(self) -> list[Widget]:
        """The widgets, in no particular order."""
        return [drawn.widget for drawn in self.elements.values() if drawn.widget]

    @property
    def words(self) -> list[str]:
        """All words, in no particular order."""
        return [drawn.words for drawn in self.elements.values() if drawn.words is not None]

    @property
    def cached(self) -> list[str]:
        """The large elements the server need not send again."""
        return list(self._large)

    def begin(self) -> None:
        """Take note that a run begins."""
        self._fresh.clear()

    def draw(self, message: ForwardMsg) -> str | None:
        """Draw an element, or the one a reference stands for; return the error it shows, if any."""
        if message.WhichOneof("type") == "ref_hash":
            if message.ref_hash not in self._large:
                return "the server referred to an element that was forgotten"
            delta = self._large[message.ref_hash][1]
            self._large[message.ref_hash] = (self._runs, delta)
        else:
            delta = message.delta
            if message.metadata.cacheable:
                self._large[message.hash] = (self._runs, delta)
        place = tuple(message.metadata.delta_path)
        drawn = _read(delta)
        if drawn.widget is not None and not drawn.widget.set_by_server:
            for widget in self.widgets:
                if widget.identity == drawn.widget.identity:
                    drawn.widget.value = widget.value
        self.elements[place] = drawn
        self._fresh.add(place)
        return drawn.error

    def end(self, fragments: Collection[str]) -> None:
        """Drop what a run of the page, or of these fragments, has not drawn again."""
        self.elements = {
            place: drawn
            for place, drawn in self.elements.items()
            if place in self._fresh or (fragments and drawn.fragment not in fragments)
        }
        self._runs += 1
        self._large = {
            name: (used, delta)
            for name, (used, delta) in self._large.items()
            # A fragment's run makes only the fragment's own elements older.
            if self._runs - used <= KEPT_RUNS or (fragments and delta.fragment_id not in fragments)
        }


def _read(delta: Delta) -> Drawn:
    drawn = Drawn(fragment=delta.fragment_id)
    if delta.WhichOneof("type") != "new_element":
        return drawn
    element = delta.new_element
    kind = element.WhichOneof("type")
    if kind == "exception":
        drawn.error = f"{element.exception.type}: {element.exception.message}"
    elif kind in WORDS:
        drawn.words = getattr(getattr(element, kind), WORDS[kind])
    else:
        drawn.widget = widget_in(element, delta.fragment_id)
    return drawn
