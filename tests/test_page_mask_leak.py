"""The mask-leak page shows what core computes."""

from core.mask_leak import LeakSettings, check_masks, influence, leak
from core.tables import mask_leak as tables
from tests.page_helpers import opened, word_tables, words


def test_the_table_is_that_of_core_before_and_after_a_slider_moves():
    app = opened("mask_leak")
    for size in (1.0, 3.0):
        app.slider(key="size").set_value(size).run()
        result = leak(LeakSettings(size=size))
        shown = tables.leak_summary_in_words(tables.leak_summary(result))
        assert word_tables(app)[0].to_csv() == shown.to_csv()
        assert tables.leak_sentence(result) in words(app)


def test_it_says_which_outputs_moved_at_the_changed_position_and_after_it():
    said = "none of the 10 outputs before position 10 moved, and 6 of the 6 from there on."
    assert said in words(opened("mask_leak"))
    none = "none of the 10 outputs before position 10 moved, and none of the 6 from there on."
    assert none in words(opened("mask_leak", size="0.0"))


def test_the_article_gives_way_when_the_sequence_is_not_its_own():
    app = opened("mask_leak", n_tokens="20")
    assert set(word_tables(app)[0]["Article"]) == {"another setting"}


def test_the_map_follows_the_chosen_mask():
    app = opened("mask_leak", mask="off by one")
    run = LeakSettings(mask="off by one")
    assert tables.chosen_sentence(leak(run)) in words(app)
    cells = tables.influence_cells(influence(run))
    assert tables.influence_sentence(cells, "off by one") in words(app)
    checks = tables.mask_checks_in_words(tables.mask_checks(check_masks(run)))
    assert word_tables(app)[1].to_csv() == checks.to_csv()


def test_a_position_past_the_end_is_lowered_with_a_note():
    app = opened("mask_leak", n_tokens="4")
    assert "“Changed position” can be at most 3 here. You chose 10; 3 is used." in words(app)
    assert not app.exception
