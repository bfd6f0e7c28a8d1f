"""Names of the parts of a study that are of one system each."""

from hypothesis import given
from hypothesis import strategies as st

from harness.study.workers import RUN


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_two_systems_never_share_a_file(systems: list[str]) -> None:
    assert RUN.file(systems[0]) != RUN.file(systems[1])
