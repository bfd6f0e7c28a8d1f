"""Memory that is stated before work begins."""

from hypothesis import given
from hypothesis import strategies as st

from recommenders import workers_within

NEEDS = st.lists(st.integers(0, 100), min_size=1, max_size=8)


@given(available=st.integers(0, 300), needs=NEEDS, n_jobs=st.integers(1, 8))
def test_whichever_trainings_meet_they_fit(available: int, needs: list[int], n_jobs: int) -> None:
    n_workers = workers_within(available, needs, n_jobs=n_jobs)
    assert 1 <= n_workers <= n_jobs
    assert n_workers == 1 or sum(sorted(needs)[-n_workers:]) <= available


def test_all_cores_work_where_memory_is_plenty() -> None:
    assert workers_within(1000, [1, 2, 3], n_jobs=2) == 2
