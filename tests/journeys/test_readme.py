"""The reading of README's install steps."""

import pytest

from tests.journeys.readme import Step, insert_lines, install_checkout, read_steps

README = """# A game
```bash
not this
```
<!-- install -->
First:
```bash
pip install evennia-ai
evennia migrate
```
```python
# server/conf/settings.py
INSTALLED_APPS += ("evennia_ai",)
```
```text
assistant create Edda
```
<!-- /install -->
"""


def test_only_the_marked_steps_are_read() -> None:
    assert [
        Step("bash", ("pip install evennia-ai", "evennia migrate")),
        Step("python", ('INSTALLED_APPS += ("evennia_ai",)',), "server/conf/settings.py"),
        Step("text", ("assistant create Edda",)),
    ] == read_steps(README)


@pytest.mark.parametrize(
    ("readme", "problem"),
    [
        ("# A game", "between <!-- install -->"),
        ("<!-- install -->\nread the docs\n<!-- /install -->", "has no ```bash"),
        ("<!-- install -->\n```python\nX = 1\n```\n<!-- /install -->", "names no file"),
    ],
)
def test_a_readme_that_cannot_be_followed_is_refused(readme: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_steps(readme)


@pytest.mark.parametrize(
    "line",
    [
        "pip install evennia-ai",
        "python -m pip install 'evennia-ai[local]'",
        "$ pip install -U evennia-ai",
    ],
)
def test_only_pip_is_replaced(line: str) -> None:
    assert "python -c 'import evennia_ai'\nls" == install_checkout(f"{line}\nls")


FILE = ["import a", "", "class C(B):", "    def f(self):", "        super().f()", "", "class D(B):"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (["X = 1"], [*FILE, "X = 1"]),
        (
            ["import b", "class C(B):", "    ...", "        super().f()", "        self.g()"],
            [*FILE[:2], "import b", *FILE[2:5], "        self.g()", *FILE[5:]],
        ),
        (["import a"], FILE),
    ],
)
def test_new_lines_go_where_the_known_ones_show(block: list[str], expected: list[str]) -> None:
    """Lines that the file has already show the place; a block without any goes to the end."""
    assert expected == insert_lines(FILE, block)
