"""The harness: a study of ranking metrics, from its definition to its report.

Its names are imported when they are first asked for. Metrics are among them, by their names (with
``_`` for ``-``): ``nDCG(gains="exp") @ 10`` is what a study calls ``nDCG(gains=exp)@10``. An
`ImportError` says if a file of the user's, such as ``runs.py``, has the place of one of the
harness's own packages: in a notebook at once, in a script when a name is asked for. Microsoft's
package ``recommenders`` may be installed over ours, whose ``__init__.py`` the harness therefore
never needs. In a folder before ours it hides our modules; what trains systems tells so.

Examples
--------
>>> import harness
>>> study = harness.Study(name="demo", ratings={"format": "world"})
>>> str(study.measures[0])
'P@5'
>>> harness.nDCG(gains="exp") @ 10
nDCG(gains=exp)@10
"""

import sys
from importlib import import_module
from importlib.util import find_spec

from harness.own_packages import explained_imports, require_own_packages
from harness.version import __version__ as __version__

# That of `typing`, whose import takes as long as the rest of this module.
TYPE_CHECKING = False

# Commands say it in a sentence of their own.
if hasattr(sys, "ps1") or "IPython" in sys.modules:
    require_own_packages()

_MODULE_OF = {
    "InputError": "runs",
    "Measure": "analyses.shared.measure",
    "Scores": "analyses.shared.scores",
    "Study": "harness.study.study",
    "analyse": "harness.notebook",
    "compare_systems": "harness.notebook",
    "correct": "analyses.sampled.correction",
    "correlate": "harness.notebook",
    "design": "harness.notebook",
    "discriminate": "harness.notebook",
    "ir_measure": "harness.trec_eval.foreign_measures",
    "lenskit_metric": "harness.trec_eval.foreign_measures",
    "metric": "harness.metrics.shared.metric",
    "open_study": "harness.report.open_study",
    "ratio": "harness.metrics.shared.metric",
    "read_study": "harness.study.study",
    "robustness": "harness.notebook",
    "run_study": "harness.study.run",
    "score": "harness.notebook",
    "user_metric": "harness.metrics.shared.user_metric",
    "validity": "harness.notebook",
}

__all__ = [*_MODULE_OF]

if TYPE_CHECKING:
    from analyses.sampled.correction import correct as correct
    from analyses.shared.measure import Measure as Measure
    from analyses.shared.scores import Scores as Scores
    from harness.metrics.shared.metric import Metric
    from harness.metrics.shared.metric import metric as metric
    from harness.metrics.shared.metric import ratio as ratio
    from harness.metrics.shared.user_metric import user_metric as user_metric
    from harness.notebook import analyse as analyse
    from harness.notebook import compare_systems as compare_systems
    from harness.notebook import correlate as correlate
    from harness.notebook import design as design
    from harness.notebook import discriminate as discriminate
    from harness.notebook import robustness as robustness
    from harness.notebook import score as score
    from harness.notebook import validity as validity
    from harness.report.open_study import open_study as open_study
    from harness.study.run import run_study as run_study
    from harness.study.study import Study as Study
    from harness.study.study import read_study as read_study
    from harness.trec_eval.foreign_measures import ir_measure as ir_measure
    from harness.trec_eval.foreign_measures import lenskit_metric as lenskit_metric
    from runs import InputError as InputError

    def __getattr__(name: str) -> Metric: ...
else:

    def __getattr__(name: str) -> object:
        """Import a name when it is first asked for: a public name, or a built-in metric.

        Raises ImportError if a package of the harness is hidden, AttributeError for other names.
        """
        if name in _MODULE_OF:
            require_own_packages()
            with explained_imports():
                return getattr(import_module(_MODULE_OF[name]), name)
        # What is imported from here may be a folder, such as that of the metrics.
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
            require_own_packages()
            metrics = _metrics()
            if name in metrics:
                return metrics[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """List the public names, and those of the built-in metrics."""
        return [*__all__, *_metrics()]


def _metrics() -> dict[str, "Metric"]:
    """Collect the built-in metrics by the names that they have in Python: ``_`` for ``-``."""
    from harness.metrics.shared.register import built_in_metrics

    metrics_by_name: dict[str, Metric] = {}
    for name, metric in built_in_metrics().items():
        metrics_by_name[name.replace("-", "_")] = metric
    return metrics_by_name
