import pytest


@pytest.fixture(autouse=True)
def small_times(request: pytest.FixtureRequest) -> None:
    """Let times be small numbers, but in tests of the rule that they are not."""
    if "times_as_they_are" not in request.fixturenames:
        request.getfixturevalue("logs_of_1970")


@pytest.fixture
def times_as_they_are() -> None:
    """Keep the rule for times."""
