"""Charts for a projector: every word larger, and legends that need not fit a phone."""

from core.charts import ablation, context_cost, inference_cost, mask_leak
from core.charts.large import enlarge_words
from core.charts.style import spec


def found(part, name):
    """Return all that stands under this name, anywhere in a specification."""
    if isinstance(part, dict):
        here = [part[name]] if name in part else []
        return here + [value for inner in part.values() for value in found(inner, name)]
    if isinstance(part, list):
        return [value for inner in part for value in found(inner, name)]
    return []


def enlarged(make):
    """Return a chart's specification as it is on a projector."""
    specification = spec(make())
    enlarge_words(specification)
    return specification


def test_every_kind_of_word_has_a_size_and_the_colours_stay():
    usual, large = spec(mask_leak.output_changes()), enlarged(mask_leak.output_changes)
    for part in ("axis", "legend", "header"):
        assert large["config"][part]["labelFontSize"] >= 16
        assert large["config"][part]["titleFontSize"] >= 16
        assert usual["config"][part].items() <= large["config"][part].items()
    assert large["config"]["text"]["fontSize"] >= 16
    assert large["config"]["mark"] == usual["config"]["mark"]


def test_words_with_a_size_of_their_own_grow_too():
    usual, large = spec(ablation.run_points()), enlarged(ablation.run_points)
    sizes = found(usual, "fontSize")
    assert sizes
    grown = found({**large, "config": {}}, "fontSize")
    assert all(after >= 1.25 * before for before, after in zip(sizes, grown, strict=True))
    # A name keeps its distance from what it names, and the marks keep their size.
    assert max(found(large, "dx")) > max(found(usual, "dx"))
    assert found(large, "size") == found(usual, "size")


def test_a_legend_takes_the_width_of_the_screen():
    assert set(found(spec(inference_cost.time()), "columns")) == {2}
    assert set(found(enlarged(inference_cost.time), "columns")) == {0}
    assert found(spec(context_cost.row_blocks()), "columns") == [1]
    assert found(enlarged(context_cost.row_blocks), "columns") == [3]
