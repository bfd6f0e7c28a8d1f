from qrels import splits


def test_all_methods_of_study_files_are_registered() -> None:
    assert set(splits()) == {
        "user-random",
        "user-last",
        "leave-one-out-random",
        "leave-one-out-last",
        "global-time",
        "k-fold",
        "given",
        "uniform-items",
        "popularity-percentile",
    }


def test_every_split_has_a_summary() -> None:
    assert all(split.summary.endswith(".") for split in splits().values())


def test_every_option_is_described() -> None:
    fields = [field for s in splits().values() for field in s.settings.model_fields.values()]
    assert all(field.description for field in fields)
