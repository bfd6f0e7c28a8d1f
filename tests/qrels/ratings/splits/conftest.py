import pytest

from qrels import Ratings
from tests.qrels.ratings.splits.tables import ratings_of


@pytest.fixture
def large() -> Ratings:
    """100 users rate 20 items each, all in one second."""
    return ratings_of({(f"u{user}", f"i{item}"): 0 for user in range(100) for item in range(20)})
