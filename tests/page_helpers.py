"""Opening a page as Streamlit's own test runner does, without a browser."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 60  # seconds; a bound, not a measurement


SKIP = "Skip: show me"


def opened(name: str, *, skip: bool = True, **link: str) -> AppTest:
    """Enter the app, then go to ``pages/<name>.py`` with these values in its link.

    Goes on past the question of the page, if it asks one, unless ``skip`` is False.
    """
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=TIMEOUT).run()
    for key, value in link.items():
        app.query_params[key] = value
    app.switch_page(f"pages/{name}.py").run()
    for button in app.button:
        if skip and button.label == SKIP:
            return button.click().run()
    return app


def words(app: AppTest) -> str:
    """Return all the text on the page as a student reads it, without Markdown's escapes."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error, app.title, app.header)
    text = "\n".join(element.value for elements in kinds for element in elements)
    return text.replace("\\", "")
