import numpy as np

from analyses.online.clicks.checks.robots import Robots, robots
from analyses.online.logs.slates import Slates

PEOPLE, BUSY = 20, 50


def with_a_robot() -> Robots:
    """People accept every second of 2 lists; a robot accepts none of 50 on one day."""
    user = [f"{person:02}" for person in range(PEOPLE) for _ in range(2)] + ["robot"] * BUSY
    slates = Slates.of(
        [["a"]] * len(user), user=user, arm=["A"] * len(user), time=[*range(len(user))]
    )
    accepted = (np.arange(len(user)) % 2 == 0) & (np.arange(len(user)) < 2 * PEOPLE)
    return robots(slates, accepted, per_day=10)


def test_rates_stand_with_and_without_robots() -> None:
    frame = with_a_robot().to_frame().set_index("users_counted")
    assert frame["rate"].to_dict() == {"all": 20 / 90, "without robots": 0.5}
    assert frame["users"].to_dict() == {"all": 21, "without robots": 20}


def test_the_caption_counts_robots_and_their_lists() -> None:
    caption = with_a_robot().caption()
    assert caption.startswith("1 users with more than 10 lists on a day")
    assert "55.6% of all lists" in caption


def test_the_figure_has_both_rates() -> None:
    assert with_a_robot().plot().get_legend_handles_labels()[1] == ["all", "no robots"]
