from analyses.shared.figure_layout import shortened_names


def test_names_lose_their_middle_and_stay_different() -> None:
    names = ["Waterloo_A-rank-normal.txt", "Waterloo_A-rank-cost.txt", "short"]
    assert shortened_names(names, 11) == ["Water…l.txt", "Water…t.txt", "short"]
    assert shortened_names(names, 40) == names
    # Of 7 characters, both would be "run…txt".
    assert shortened_names(["run-a.1.txt", "run-b.1.txt"], 7) == ["run-a….txt", "run-b….txt"]
