"""Opening a page as Streamlit's own test runner does, without a browser."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 60  # seconds; a bound, not a measurement


def opened(name: str, **link: str) -> AppTest:
    """Enter the app, then go to ``pages/<name>.py`` with these values in its link."""
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=TIMEOUT).run()
    for key, value in link.items():
        app.query_params[key] = value
    return app.switch_page(f"pages/{name}.py").run()


def words(app: AppTest) -> str:
    """Return all the text on the page, for looking a sentence up in it."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.title, app.subheader)
    return "\n".join(element.value for elements in kinds for element in elements)
