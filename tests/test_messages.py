"""The messages that the documentation explains are those of the program."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "messages.md"
PACKAGES = ("analyses", "harness", "qrels", "recommenders", "runs")
MESSAGES = re.findall(r"(?m)^### (.+)$", PAGE.read_text(encoding="utf-8"))
ANYTHING = "…"
"""What stands on the page and in `literals` for a value."""


@pytest.fixture(scope="module")
def literals() -> list[str]:
    """All texts in the code, with a sign in place of each value that is put into them."""
    texts = []
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
                    texts.append(ANYTHING.join(map(str, parts)))
    return texts


def test_messages_of_many_kinds_are_explained() -> None:
    assert len(MESSAGES) >= 25
    assert len(set(MESSAGES)) == len(MESSAGES)


@pytest.mark.parametrize("message", MESSAGES)
def test_an_explained_message_is_one_of_the_program(message: str, literals: list[str]) -> None:
    parts = [re.escape(part.strip()) for part in message.split(ANYTHING)]
    pattern = re.compile(".*".join(filter(None, parts)), flags=re.DOTALL)
    assert any(pattern.search(text) for text in literals)
