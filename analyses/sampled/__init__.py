"""Sampled metrics: what they say of the exact ones, and what corrects them."""

GROUP = "What sampling negatives does to metrics, and what corrects it."

OPTION = "give it as an option of `estimates`: "
GONE = {
    "iterations": f"`iterations` is gone: {OPTION}estimators = ['mle(iters=10)', ...].",
    "priors": f"`priors` is gone: {OPTION}estimators = ['bv(gamma=0.1,prior=mle)', ...].",
    "adaptive": f"the study `adaptive` is gone: {OPTION}estimators = ['adaptive-mle'].",
    "cost": f"the study `cost` is gone: {OPTION}negatives = [50, 100, 200].",
    "strategies": f"the study `strategies` is gone: {OPTION}drawing = ['uniform', 'popular'].",
    "power": "`power` is gone: popular negatives are drawn by training ratings to the power .75.",
    "hard_by": "`hard_by` is gone: hard negatives are the top items of the first system.",
    "in_order": "`in_order` is gone: users are counted until 90 % of the pairs are in order.",
    "lost": "`lost` is gone: popularity and exposure remove judgements of popular items.",
    "replicates": "`replicates` is gone: `harness correct` resamples users.",
}
"""Studies and settings of earlier versions, with what to use instead."""
