"""What `tests.benchmarks.waits` runs beside the commands of the program.

``python -m tests.benchmarks.peers WORK`` does it, in the folder with the inputs. Each function
imports what it needs: what it is measured for is not to hold more.
"""

import sys
from pathlib import Path


def evaluate_runs() -> None:
    """Evaluate the files of runs in one call of pytrec_eval for each."""
    from tests.benchmarks.test_evaluation_speed import theirs

    runs = Path("runs")
    theirs(runs / "qrels", sorted(runs.glob("*.run")))


def read_ratings() -> None:
    """Read the ratings with pandas."""
    import pandas as pd

    pd.read_csv("ratings.csv")


def draw_world() -> None:
    """Draw the training ratings of the world ``ml-1m``."""
    from tests.benchmarks.test_ranking_speed import training_ratings

    training_ratings()


def train_ease() -> None:
    """Train ease on them."""
    import recommenders
    from tests.benchmarks.test_ranking_speed import training_ratings

    recommenders.train("ease", {}, training_ratings(), seed=1)


WORK = {
    work.__name__.replace("_", "-"): work
    for work in (evaluate_runs, read_ratings, draw_world, train_ease)
}

if __name__ == "__main__":
    WORK[sys.argv[1]]()
