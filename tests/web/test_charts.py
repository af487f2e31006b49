"""Charts: the drawing agrees with the numbers, whatever they are."""

from html.parser import HTMLParser

from django.template.loader import render_to_string
from hypothesis import example, given
from hypothesis import strategies as st

from evennia_ai.web.charts import BOTTOM, HEIGHT, MOST_SERIES, OTHERS, TOP, Chart, bars, few, nice
from tests.browser.cases import CASES

DAYS = [f"2026-11-{day:02}" for day in range(1, 31)]
AMOUNTS = st.floats(0, 1e9, allow_nan=False)
ROWS = st.lists(AMOUNTS, min_size=30, max_size=30)
PLOT = HEIGHT - TOP - BOTTOM


def chart_of(series: dict[str, list[float]], **more: float) -> Chart:
    return bars("used", "Tokens a day", DAYS, series, "{:,.0f}".format, **more)


@given(st.dictionaries(st.text(max_size=5), ROWS, max_size=9))
def test_what_is_drawn_is_inside_and_as_high_as_was_counted(series: dict[str, list[float]]) -> None:
    """No bar leaves the picture, and the heights are in proportion to the values."""
    chart = chart_of(series)
    for block in chart.blocks:
        assert chart.left <= block.x <= block.x + block.width <= chart.right
        assert TOP - 0.1 <= block.y <= block.y + block.height <= chart.base + 0.1
    highest = max(sum(values) for values in zip(*series.values(), strict=True)) if series else 0
    assert chart.is_empty is (not highest)
    if highest:
        drawn = sum(block.height for block in chart.blocks)
        whole = sum(map(sum, series.values())) * PLOT / nice(highest)
        assert abs(drawn - whole) <= 0.01 * len(chart.blocks) + 0.01


@given(AMOUNTS)
@example(5e-324)
def test_an_axis_ends_at_a_round_number_that_is_high_enough(highest: float) -> None:
    top = nice(highest)
    assert top >= highest
    assert top > 0
    assert top <= max(2.5 * highest, 1.0)


def test_parts_of_a_day_stand_on_one_another() -> None:
    """The largest series is the lowest, and each begins where the one below it ends."""
    low, high = chart_of({"Bea": [1.0] * 30, "Ada": [3.0] * 30}).blocks[:2]
    assert ("2026-11-01, Ada: 3", 0) == (low.told, low.look)
    assert ("2026-11-01, Bea: 1", 1) == (high.told, high.look)
    assert abs(high.y + high.height - low.y) < 0.05
    assert abs(low.height - 3 * high.height) < 0.05


def test_of_many_series_the_small_ones_are_one() -> None:
    many = {f"n{number}": [float(number)] * 30 for number in range(1, 10)}
    drawn = few(many)
    assert [*(f"n{n}" for n in range(9, 9 - MOST_SERIES, -1)), OTHERS] == list(drawn)
    assert [1.0 + 2 + 3 + 4] * 30 == drawn[OTHERS]
    assert len(chart_of(many).legend) == MOST_SERIES + 1


def test_a_cap_is_a_line_where_it_can_be_seen() -> None:
    """A cap far above the values is left out, because it would flatten all bars."""
    used = {"Ada": [100.0] * 30}
    line = chart_of(used, cap=120).cap
    assert line is not None
    assert TOP <= line < HEIGHT - BOTTOM
    assert chart_of(used, cap=10_000).cap is None
    assert chart_of(used).cap is None


def test_who_cannot_see_it_is_told_the_sum_and_the_highest_day() -> None:
    used = [0.0] * 29 + [5000.0]
    text = chart_of({"Ada": used}).desc
    assert text.startswith("Tokens a day: 5,000 in 30 days, the most on 2026-11-30 with 5,000.")
    assert chart_of({}).desc == "Tokens a day: nothing yet."


def test_days_are_named_evenly_and_today_always() -> None:
    labels = [label.text for label in chart_of({}).labels]
    assert labels[-1] == DAYS[-1]
    assert 4 <= len(labels) <= 7


class Reader(HTMLParser):
    """Collects the tags and the words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_it_is_a_picture_with_a_title_and_a_description() -> None:
    for case in CASES:
        reader = Reader()
        chart = chart_of({case.written: [1.0] * 30, "Ada": [1.0] * 30})
        reader.feed(render_to_string("evennia_ai/chart.html", {"chart": chart}))
        known = {"figure", "figcaption", "svg", "title", "desc", "line", "rect", "text", "ul", "li"}
        assert {tag for tag, _ in reader.tags} <= known
        svg = next(attrs for tag, attrs in reader.tags if tag == "svg")
        assert ("img", "used-title used-desc") == (svg["role"], svg["aria-labelledby"])
        assert {"used-title", "used-desc"} <= {attrs.get("id") for _, attrs in reader.tags}
        assert case.written.strip() in "".join(reader.words)
