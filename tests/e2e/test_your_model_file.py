"""A file of one's own in a real browser: pasted, uploaded, too large, broken."""

import json

import pytest

from pages import PAGES

pytestmark = pytest.mark.browser

QUESTION = next(page.question for page in PAGES if page.path == "pages/your_model.py")
TINY = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}


@pytest.fixture
def box(screen):
    screen.open("your_model", QUESTION)
    screen.page.get_by_text("Your own config.json", exact=True).first.click()
    return screen


def test_a_pasted_file_moves_the_chart_and_goes_into_no_link(box):
    page = box.page
    chart = page.get_by_test_id("stVegaLiteChart").first
    before = chart.screenshot()
    area = page.get_by_label("Your config.json")
    area.fill(json.dumps(TINY))
    area.press("Control+Enter")
    page.get_by_text("Your model: 95,040 parameters").wait_for()
    box.settle()
    page.wait_for_timeout(1000)
    assert chart.screenshot() != before
    assert "hidden_size" not in page.url
    area.fill('{"model_type": "llama", "hidden_size": "64"}')
    area.press("Control+Enter")
    alert = page.get_by_test_id("stAlert")
    alert.wait_for()
    assert alert.inner_text() == (
        "hidden_size must be a whole number from 1 to 1,000,000, got the text “64”. Until that is "
        "mended, Llama-3.1-8B is shown."
    )
    # The file outlives a visit to another page.
    page.get_by_test_id("stSidebar").get_by_role("link", name="Mask leak").click()
    page.get_by_role("heading", level=1, name="Can a token see").wait_for()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Your own model").click()
    alert.wait_for()


def test_an_uploaded_file_is_read_and_one_of_ten_megabytes_is_refused(box, tmp_path):
    page = box.page
    large, small = tmp_path / "large.json", tmp_path / "small.json"
    large.write_text(json.dumps({"model_type": "x" * 10_000_000}))
    small.write_text(json.dumps(TINY))
    choose = page.locator("input[type=file]")
    choose.set_input_files(str(large))
    uploader = page.get_by_test_id("stFileUploader")
    uploader.get_by_text("or smaller").wait_for()
    assert "large.json" in uploader.inner_text()
    choose.set_input_files(str(small))
    page.get_by_text("Your model: 95,040 parameters").wait_for()
    assert json.loads(page.get_by_label("Your config.json").input_value()) == TINY


def test_a_pasted_text_of_ten_megabytes_gets_a_sentence_and_is_dropped(box):
    page = box.page
    area = page.get_by_label("Your config.json")
    area.fill(json.dumps({"model_type": "x" * 10_000_000}))
    area.press("Control+Enter")
    alert = page.get_by_test_id("stAlert")
    alert.wait_for()
    assert "may have at most 1,048,576 bytes here, got 10,000,018." in alert.inner_text()
    assert area.input_value() == ""
