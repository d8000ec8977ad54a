"""Predict, look, explain: the question comes first, is skippable, and is remembered."""

from datetime import date

from core.mask_leak import LeakSettings, leak
from core.notebook import Entry, notebook_page, notebook_table
from core.tables.mask_leak import leak_sentence
from pages import HOME
from tests.page_helpers import SKIP, opened, press, word_tables, words

ANSWER = leak_sentence(leak(LeakSettings()))


def labels(app):
    return [button.label for button in app.button]


def test_the_answer_waits_for_a_prediction():
    app = opened("mask_leak", skip=False)
    assert ANSWER not in words(app)
    assert len(word_tables(app)) == 0
    assert SKIP in labels(app)


def test_no_page_gives_away_what_it_or_a_later_one_asks_first():
    home = words(opened("mask_leak", skip=False).switch_page(HOME.path).run())
    assert "half" not in home.lower(), "recall training asks where the weight goes"
    cost = words(opened("context_cost", skip=False))
    assert "n × n" not in cost
    assert "four times the" not in cost.lower()


def test_a_prediction_stands_beside_the_result_and_is_not_marked():
    app = press(opened("mask_leak", skip=False), "Outputs 0 to 10")
    assert "You predicted" in words(app)
    assert "Outputs 0 to 10" in words(app)
    assert ANSWER in words(app)
    assert not app.error
    assert not app.success
    assert SKIP not in labels(app)


def test_one_click_skips_and_the_page_says_so():
    app = press(opened("mask_leak", skip=False), SKIP)
    assert ANSWER in words(app)
    assert "Nothing: you went straight to the result." in words(app)


def test_moving_a_slider_or_a_link_with_settings_goes_straight_to_the_result():
    app = opened("mask_leak", skip=False)
    app.slider(key="n_tokens").set_value(20).run()
    assert "You predicted" in words(app)
    assert "You predicted" in words(opened("mask_leak", skip=False, n_tokens="20"))


def test_predictions_are_remembered_and_collected_on_the_first_page():
    app = press(opened("mask_leak", skip=False), "Only output 10")
    app.slider(key="position").set_value(3).run()
    app.switch_page(HOME.path).run()
    assert "Looked at in this visit." in words(app)
    row = word_tables(app)[0].iloc[0]
    assert row["Page"] == "Mask leak"
    assert row["Predicted"] == "Only output 10"
    # The first result is kept: it is the one the prediction was made for.
    assert row["Result"] == ANSWER
    app.switch_page("pages/mask_leak.py").run()
    assert SKIP not in labels(app)


def test_an_empty_visit_says_so():
    app = opened("mask_leak", skip=False).switch_page(HOME.path).run()
    assert "Nothing yet." in words(app)
    assert len(word_tables(app)) == 0


def test_another_experiment_leaves_the_first_look_as_it_was():
    """The prediction was made for those settings: no other result or reason stands beside it."""
    app = press(opened("mask_leak", skip=False), "Only output 10")
    app.slider(key="position").set_value(0).run()
    (card,) = (e.proto.body for e in app.get("html") if "You predicted" in e.proto.body)
    assert ANSWER in card
    assert "no output comes before it" not in card
    assert "no output comes before it" in words(app)


def test_a_telling_case_sets_the_controls():
    app = opened("mask_leak", size="3.0")
    press(app, "Change the very first token: who is safe?")
    assert app.slider(key="position").value == 0
    assert app.slider(key="size").value == 1.0
    assert "no output comes before it" in words(app)


def test_a_projector_sees_the_picked_controls_and_the_same_run():
    app = opened("mask_leak", present="1", show="position", n_tokens="24", size="2.5")
    assert [slider.key for slider in app.slider] == ["position"]
    assert "Back to the defaults" not in labels(app)
    assert leak_sentence(leak(LeakSettings(n_tokens=24, size=2.5))) in words(app)
    assert "One random sequence of 24 tokens" in words(app)


def test_a_telling_case_works_on_a_projector_too():
    app = opened("mask_leak", present="1", show="n_tokens")
    press(app, "Change the very first token: who is safe?")
    assert "no output comes before it" in words(app)
    assert app.query_params["position"] == "0"


def test_a_link_carries_every_group_of_controls_on_the_page():
    app = opened("word_order", skip=False, n_positions="19", n_seeds="1", n_steps="100")
    # Made when they are opened, one group after the other.
    assert not any("?" in code.value for code in app.code)
    groups = [button.key for button in app.button if button.label == "Back to the defaults"]
    for group in groups:
        app.session_state[group.replace("reset_", "links_")] = True
    app.run()
    links = [code.value for code in app.code if "?" in code.value and "present" not in code.value]
    assert len(links) > 1
    for link in links:
        assert "n_positions=19" in link
        assert "n_seeds=1" in link


def test_a_value_set_on_one_page_does_not_travel_to_another():
    app = opened("ablation", skip=False, n_pairs="12", n_keys="32", n_values="30", n_seeds="1")
    assert app.slider(key="n_values").value == 30
    app.query_params.clear()  # as a link of the menu does in a browser
    for name in ("many_heads", "scale", "recall_training", "ablation"):
        app.switch_page(f"pages/{name}.py").run()
        assert not app.exception, name
        assert (SKIP in labels(app)) == (name != "ablation"), name
    assert app.slider(key="n_values").value == 8


def test_the_printed_page_escapes_what_a_student_wrote():
    page = notebook_page(
        [Entry(page="Mechanism", question="Which?", predicted="<script>alert(1)</script>")],
        date(2026, 1, 2),
    )
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "2026-01-02" in page


def test_the_table_keeps_the_order_of_the_visit():
    entries = [
        Entry(page=name, question="?", predicted=None, result="r", why="w") for name in ("b", "a")
    ]
    assert list(notebook_table(entries)["Page"]) == ["b", "a"]
