"""Opening a page as Streamlit's own test runner does, without a browser."""

import re
import time
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 60  # seconds; a bound, not a measurement
RERUNS = 600  # at least 30 seconds; a bound as well


SKIP = "Skip: show me"

# What a program prints and nobody writes.
PROGRAMMERS = re.compile(
    r"\d[eE][+-]?\d"  # 1.0e-04
    r"|(?<![\w–.)/])-\d"  # -0.5, with a hyphen for a minus
    r"|[−-]0\.0*(?![\d.])"  # −0.00
    r"|(?<![\d.,/])\d{5,}"  # 10000
    r"|\d\.\d{10,}"  # 33.300000001
    r"|\b(?:nan|inf|NaN|<NA>)\b"
    r"|(?<![\d.,÷/×-] )(?<![\d.,])\b1 (?:run|output|cell|token|head|layer|pair|byte|sequence)s\b"
)


def opened(name: str, *, skip: bool = True, unfold: Iterable[str] = (), **link: str) -> AppTest:
    """Enter the app, then go to ``pages/<name>.py`` with these values in its link.

    Goes on past the question of the page, if it asks one, unless ``skip`` is False. Parts that are
    folded away are drawn where ``unfold`` names them.
    """
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=TIMEOUT).run()
    for key in unfold:
        app.session_state[f"fold_{key}"] = True
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(f"pages/{name}.py").run()
    for button in app.button:
        if skip and button.label == SKIP:
            return button.click().run()
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Press the button with this label."""
    return next(button for button in app.button if button.label == label).click().run()


def until(app: AppTest, label: str) -> AppTest:
    """Rerun the page until it has a button with this label; bounded."""
    for _ in range(RERUNS):
        if any(button.label == label for button in app.button):
            return app
        time.sleep(0.05)
        app.run()
    raise AssertionError(f"no button {label}: {words(app)}")


def settled(app: AppTest, *names: str) -> AppTest:
    """Rerun the page until what it keeps under these names is no longer at work; bounded."""
    for _ in range(RERUNS):
        if not any(app.session_state[name].live for name in names):
            return app.run()
        time.sleep(0.05)
        app.run()
    raise AssertionError(f"no end of {' and '.join(names)}: {words(app)}")


def words(app: AppTest) -> str:
    """Return all the text on the page as a student reads it: no escapes, no unbroken spaces."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.title, app.header)
    text = "\n".join(element.value for elements in kinds for element in elements)
    pieces = [piece for body in _html_of(app) for piece in _texts(body)]
    return "\n".join([text.replace("\\", ""), *pieces]).replace("\N{NO-BREAK SPACE}", " ")


def word_tables(app: AppTest) -> list[pd.DataFrame]:
    """Return the tables of words on the page, as a student reads them."""
    return [read_table(body) for body in _html_of(app) if "<table" in body]


def _html_of(app: AppTest) -> list[str]:
    bodies = [element.proto.body for element in app.get("html")]
    return [body for body in bodies if not body.startswith("<style>")]


def _texts(body: str) -> list[str]:
    pieces: list[str] = []
    reader = HTMLParser()
    reader.handle_data = pieces.append  # type: ignore[method-assign]
    reader.feed(body)
    return pieces


def written_by_programs(app: AppTest) -> list[str]:
    """Return the numbers on the page that are not written as people write them."""
    cells = [str(cell) for table in word_tables(app) for cell in table.to_numpy().ravel()]
    texts = [words(app), *cells, *(bar.proto.text for bar in app.get("progress"))]
    found = [match.group() for text in texts for match in PROGRAMMERS.finditer(text)]
    return found + [cell for cell in cells if cell == "None"]


def read_table(body: str) -> pd.DataFrame:
    """Read the one table in this HTML, its cells as texts, with a plain space before a %."""
    reader = _Reader()
    reader.feed(body)
    names, *rows = reader.rows
    return pd.DataFrame(rows, columns=names)


class _Reader(HTMLParser):
    """Collects the cells of the table that it is fed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        self.rows[-1][-1] += data.replace("\N{NO-BREAK SPACE}%", " %")
