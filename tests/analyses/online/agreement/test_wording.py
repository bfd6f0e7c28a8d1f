import numpy as np
import pytest

from analyses.online.agreement.wording import caution, word_finding


@pytest.mark.parametrize("n_models", [3, 5, 7])
@pytest.mark.parametrize("p", [0.0002, 0.04, 0.3])
def test_few_models_are_described(n_models: int, p: float) -> None:
    assert "signific" not in word_finding(0.9, p, n_models=n_models) + caution(n_models)


@pytest.mark.parametrize(("p", "said"), [(0.05, ", significant"), (0.051, "not significant")])
def test_eight_models_are_judged(p: float, said: str) -> None:
    assert said in word_finding(0.9, p, n_models=8)


def test_no_rho_is_said() -> None:
    assert word_finding(np.nan, np.nan, n_models=9).startswith("no rho over 9 models")


@pytest.mark.parametrize("n_models", [7, 8, 19])
def test_fewer_than_twenty_models_are_cautioned_about(n_models: int) -> None:
    assert f"over {n_models} models" in caution(n_models)
    assert "take 20 or more" in caution(n_models)
