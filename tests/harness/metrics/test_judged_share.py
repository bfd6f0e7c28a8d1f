"""Judged against ir_measures' own, on random lists, also short ones."""

import ir_measures
import numpy as np
import pandas as pd
import pytest

import harness


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_that_of_ir_measures(seed: int) -> None:
    draw = np.random.default_rng(seed)
    run, qrels = [], []
    for user in range(30):
        listed = draw.permutation(40)[: draw.integers(1, 20)]
        run += [(f"u{user}", f"i{item}", float(-rank)) for rank, item in enumerate(listed)]
        judged = draw.permutation(40)[:12]
        qrels += [(f"u{user}", f"i{item}", int(draw.integers(0, 3))) for item in judged]
    wanted = ir_measures.iter_calc(
        [ir_measures.Judged @ 10],
        [ir_measures.Qrel(*row) for row in qrels],
        [ir_measures.ScoredDoc(*row) for row in run],
    )
    values = {each.query_id: each.value for each in wanted}
    scores = harness.score(
        {"a": pd.DataFrame(run, columns=["user", "item", "score"])},
        pd.DataFrame(qrels, columns=["user", "item", "grade"]),
        ["Judged@10"],
    )
    found = dict(zip(scores.users, scores.values[0, 0], strict=True))
    assert len(values) == 30
    assert found == pytest.approx(values)
