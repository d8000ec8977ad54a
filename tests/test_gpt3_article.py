"""The article's arithmetic on GPT-3, redone from the ledger."""

from dataclasses import replace

import pytest

from core.gpt3_article import article_steps, gpt3, named_totals


def test_every_step_is_the_articles():
    assert all(step.agrees for step in article_steps())
    assert [step.computed for step in article_steps()][:4] == [
        6_291_456,
        603_979_776,
        603_979_776,
        57_982_058_496,
    ]


def test_attentions_share_depends_on_the_total_it_is_taken_of():
    totals = named_totals()
    assert [total.parameters for total in totals] == [
        175_000_000_000,
        174_604_259_328,
        175_181_291_520,
    ]
    assert [f"{total.attention_share:.2f}" for total in totals] == ["33.13", "33.21", "33.10"]


def test_the_arithmetic_written_out_means_the_computed_value():
    for step in article_steps():
        written = step.arithmetic.replace(",", "").replace("×", "*").replace("÷", "/")
        factor = 100 if step.article.unit == "%" else 1
        assert eval(written.replace("²", "**2")) * factor == pytest.approx(step.computed, rel=1e-12)


def test_the_model_is_the_papers_last_row():
    assert (gpt3().n_layers, gpt3().n_heads, gpt3().d_head) == (96, 96, 128)


@pytest.mark.parametrize("off", [0.2, 1, -1])
def test_a_step_that_is_off_does_not_agree(off):
    for step in article_steps():
        wrong = replace(step, computed=step.computed + off * max(1, 10 * step.rounding))
        assert not wrong.agrees
