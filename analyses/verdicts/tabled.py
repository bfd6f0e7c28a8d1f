"""Tables of validity, each for one truth."""

from __future__ import annotations

from analyses.shared.measure import Measures
from analyses.shared.table import Best, Cell, Table, shown
from analyses.verdicts.captions import REGRET_SAID, caption_of_pairs, caption_of_taus
from analyses.verdicts.choice import as_share
from analyses.verdicts.comparison import Comparison
from analyses.verdicts.pair_verdicts import RATES
from analyses.verdicts.uncertain import between


def agreement(found: Comparison, truth: str | None, compared: Measures) -> Table:
    """Tabulate tau-b with its intervals, tau_AP, and what noise allows; the best first."""
    place, best = found.place(truth), found.best_first(compared, truth)
    rows: list[list[Cell]] = [
        [
            str(found.measures[n]),
            float(found.tau.values[place, n]),
            between(found.tau.users, place, n),
            between(found.tau.both, place, n),
            float(found.tau_aps[place, n]),
            shown(float(found.attainable[place, n]), decimals=2),
            found.behind(place, n, best[0]),
        ]
        for n in best
    ]
    headings = ["measure", "tau-b", "users", "& systems", "tau_AP", "ideal", "behind first"]
    title = f"Agreement with {found.title(truth)}"
    return Table("validity", title, caption_of_taus(found), headings, rows, {1: max, 4: max})


def grid(found: Comparison, truth: str | None) -> Table:
    """Tabulate tau-b by metric and cut-off."""
    cells = found.measures.crossed(found.tau.values[found.place(truth)], heading="tau-b")
    title, caption = f"tau-b with {found.title(truth)}", caption_of_taus(found)
    return Table.crossed("validity_grid", title, caption, "metric", cells, best=lambda _: max)


def choices(found: Comparison, truth: str | None, compared: Measures) -> Table:
    """Tabulate the system chosen, regret, and how sure the choice is."""
    place, shares = found.place(truth), as_share(found.regret.values, found.true)
    rows: list[list[Cell]] = [
        [
            str(found.measures[n]),
            found.chosen(n),
            float(found.same_choice[n]),
            float(found.regret.values[place, n]),
            between(found.regret.users, place, n, decimals=4),
            float(shares[place, n]),
        ]
        for n in found.numbers(compared)
    ]
    headings = ["measure", "chosen", "again", "regret", "95 %", "of range"]
    title = f"Regret by {found.title(truth)}"
    return Table("choices", title, REGRET_SAID, headings, rows, {3: min, 5: min})


def pairs(found: Comparison, truth: str | None, compared: Measures) -> Table:
    """Tabulate power, type III errors and inversions, with intervals."""
    rows = [_rates(found, found.place(truth), n) for n in found.measures.numbers(compared)]
    headings = ["measure", "power", "95 %", "type III", "95 %", "inverted", "95 %"]
    title = f"Pairs of systems, by {found.title(truth)}"
    best: dict[int, Best] = {1: max, 3: min, 5: min}
    return Table("verdicts", title, caption_of_pairs(found), headings, rows, best)


def _rates(found: Comparison, place: int, number: int) -> list[Cell]:
    """Give a row: intervals over users and systems where both are known, else over users."""
    row: list[Cell] = [str(found.measures[number])]
    for rate in map(found.rate, RATES):
        known = between(rate.both, place, number) or between(rate.users, place, number)
        row += [float(rate.values[place, number]), known]
    return row
