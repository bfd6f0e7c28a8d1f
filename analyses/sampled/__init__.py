"""Sampled metrics: what they say of the exact ones, and what corrects them."""

GROUP = "What sampling negatives does to metrics, and what corrects it."

GONE = {
    "iterations": "`iterations` is gone: name each number of iterations among the estimators, as "
    "mle(iters=10) and mle(iters=1000).",
    "priors": "`priors` is gone: name each prior among the estimators, as "
    "bv(gamma=0.1,prior=mle); the true ranks are prior=true.",
    "adaptive": "the study `adaptive` is gone: name adaptive-mle among the estimators of "
    "`estimates`; costs by size are in sampled_adaptive.csv and aaai2023-figure2.",
    "cost": "the study `cost` is gone: give `estimates` several numbers of negatives, and see the "
    "table sampled_choose.",
    "strategies": "the study `strategies` is gone: give `estimates` drawing = ['uniform', "
    "'popular', 'half hard', 'hard'] in a study that trains systems.",
    "power": "`power` is gone: popular negatives are drawn by training ratings to the power .75.",
    "hard_by": "`hard_by` is gone: hard negatives are the top items of the first system; name that "
    "system first.",
    "lost": "`lost` is gone with the study `strategies`: popularity and exposure remove judgements "
    "of popular items.",
    "replicates": "`replicates` is gone with the study `strategies`: `harness correct` resamples "
    "users.",
}
"""Studies and settings of earlier versions, with what to use instead."""
