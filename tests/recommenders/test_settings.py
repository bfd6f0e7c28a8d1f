"""Settings of every system: defaults, bounds, and where `harness tune` searches.

Published results rest on the defaults. Those of krichene-x, -y and -z are the paper's: d = 16,
lambda = 10, alpha = 0.2; q = 3; k = 10 and q = 1 (Krichene & Rendle 2020, section 9).
"""

import pytest

from recommenders import systems
from tests.described import described

SETTINGS = {
    "als-knn": {
        "factors": "64; >= 1; <= 2000; searched in 16 to 128, log",
        "regularization": "1.0; > 0; searched in 0.1 to 10.0, log",
        "weight": "3.0; > 0; searched in 0.1 to 20.0, log",
        "epochs": "10; >= 1",
        "neighbours": "100; >= 1; searched in 10 to 200, log",
        "weighting": "rating; searched in rating, bm25",
        "b": "0.75; >= 0; <= 1; searched in 0.0 to 1.0",
    },
    "bprmf": {
        "factors": "64; >= 1; <= 2000; searched in 16 to 128, log",
        "regularization": "0.01; >= 0; <= 0.2; searched in 0.002 to 0.05, log",
        "learning_rate": "0.1; > 0; searched in 0.02 to 0.2, log",
        "epochs": "60; >= 1; searched in 20 to 100, log",
    },
    "chi2": {"neighbours": "200; >= 1; searched in 25 to 1000, log"},
    "ease": {
        "regularization": "300.0; > 0; searched in 10.0 to 5000.0, log",
        "max_gigabytes": "4.0; > 0",
    },
    "ht": {"max_gigabytes": "4.0; > 0", "steps": "15; >= 2"},
    "item-knn": {"neighbours": "20; >= 1; searched in 5 to 200, log"},
    "kld": {"neighbours": "200; >= 1; searched in 25 to 1000, log"},
    "krichene-x": {
        "factors": "16; >= 1; <= 2000; searched in 8 to 128, log",
        "regularization": "10.0; > 0; searched in 1.0 to 100.0, log",
        "background": "0.2; > 0; searched in 0.01 to 1.0, log",
        "epochs": "16; >= 1",
    },
    "krichene-y": {
        "q": "3.0; > 0; <= 20; searched in 0.5 to 5.0",
        "k": "0; >= 0",
        "max_gigabytes": "4.0; > 0",
    },
    "krichene-z": {
        "q": "1.0; > 0; <= 20",
        "k": "10; >= 1; searched in 5 to 200, log",
        "max_gigabytes": "4.0; > 0",
    },
    "lda": {
        "topics": "20; >= 1; <= 2000; searched in 10 to 100, log",
        "passes": "5; >= 1",
        "user_prior": "0.1; > 0; <= 1; searched in 0.01 to 1.0, log",
        "item_prior": "1.0; > 0; <= 1; searched in 0.01 to 1.0, log",
    },
    "lm-wsr-ib": {
        "neighbours": "100; >= 1; searched in 10 to 200, log",
        "background_weight": "0.97; > 0; < 1; searched in 0.1 to 0.999",
    },
    "lm-wsr-ub": {
        "neighbours": "100; >= 1; searched in 25 to 400, log",
        "background_weight": "0.9; > 0; < 1; searched in 0.1 to 0.999",
    },
    "multivae": {
        "factors": "128; >= 1; <= 2000; searched in 32 to 256, log",
        "hidden": "600; >= 1",
        "dropout": "0.5; >= 0; < 1; searched in 0.3, 0.5, 0.7",
        "divergence": "0.2; >= 0; searched in 0.05 to 0.5, log",
        "learning_rate": "0.001; > 0; searched in 0.0005 to 0.005, log",
        "epochs": "100; >= 1; searched in 30 to 200, log",
        "batch_users": "256; >= 1",
    },
    "neumf": {
        "factors": "32; >= 1; <= 2000; searched in 8 to 64, log",
        "hidden": "64; >= 1",
        "negatives": "4; >= 1; searched in 1 to 10",
        "regularization": "1.0; >= 0; searched in 0.1 to 3.0, log",
        "learning_rate": "0.003; > 0; searched in 0.0005 to 0.01, log",
        "epochs": "20; >= 1; searched in 5 to 50, log",
        "batch_ratings": "2048; >= 1",
    },
    "nncosngbr-ib": {
        "item_damping": "25.0; >= 0; searched in 1.0 to 100.0, log",
        "user_damping": "10.0; >= 0; searched in 1.0 to 100.0, log",
        "denominator": "False",
        "among": "all",
        "max_gigabytes": "4.0; > 0",
        "neighbours": "100; >= 1; searched in 10 to 400, log",
        "shrinkage": "100.0; >= 0; searched in 1.0 to 1000.0, log",
    },
    "nncosngbr-ub": {
        "item_damping": "25.0; >= 0; searched in 1.0 to 100.0, log",
        "user_damping": "10.0; >= 0; searched in 1.0 to 100.0, log",
        "denominator": "False",
        "among": "all",
        "max_gigabytes": "4.0; > 0",
        "neighbours": "100; >= 1; searched in 10 to 400, log",
        "shrinkage": "0.0; >= 0; searched in 0.0 to 100.0",
    },
    "plsa": {
        "topics": "20; >= 1; <= 2000; searched in 10 to 100, log",
        "steps": "60; >= 1; searched in 10 to 100, log",
    },
    "popularity": {},
    "puresvd": {"factors": "30; >= 1; <= 2000; searched in 5 to 200, log"},
    "random": {},
    "rm1": {
        "neighbours": "100; >= 1; searched in 25 to 400, log",
        "background_weight": "0.8; > 0; < 1; searched in 0.01 to 0.99",
    },
    "rm2": {
        "neighbours": "50; >= 1; searched in 20 to 200, log",
        "background_weight": "0.1; > 0; < 1; searched in 0.01 to 0.99",
    },
    "rp3beta": {
        "neighbours": "100; >= 1; searched in 10 to 400, log",
        "alpha": "1.0; > 0; searched in 0.3 to 2.0",
        "beta": "0.5; >= 0; searched in 0.0 to 1.0",
    },
    "rsv": {"neighbours": "100; >= 1; searched in 25 to 1000, log"},
    "rw": {"neighbours": "100; >= 1; searched in 25 to 1000, log"},
    "slim": {
        "l1_regularization": "2.0; > 0; searched in 0.1 to 10.0, log",
        "l2_regularization": "200.0; > 0; searched in 10.0 to 1000.0, log",
        "neighbours": "200; >= 0; searched in 50 to 400, log",
        "iterations": "20; >= 1",
    },
    "svd": {
        "factors": "50; >= 1; <= 2000; searched in 5 to 200, log",
        "regularization": "0.1; > 0; searched in 0.01 to 1.0, log",
        "damping": "5.0; >= 0; searched in 0.5 to 50.0, log",
        "epochs": "10; >= 1",
    },
    "uir-item": {
        "smoothing": "0.001; > 0; < 1; searched in 1e-05 to 0.1, log",
        "max_gigabytes": "4.0; > 0",
    },
    "wrmf": {
        "factors": "64; >= 1; <= 2000; searched in 8 to 128, log",
        "weight": "2.0; > 0; searched in 0.5 to 50.0, log",
        "regularization": "30.0; > 0; searched in 0.5 to 500.0, log",
        "epochs": "15; >= 1",
    },
}


def test_every_system_is_described() -> None:
    assert SETTINGS.keys() == systems().keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_the_defaults_bounds_and_places_that_are_stated(name: str) -> None:
    assert described(systems()[name].settings) == SETTINGS[name]
