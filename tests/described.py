"""Settings in a few words: default, bounds, and where `harness tune` searches."""

from __future__ import annotations

from pydantic import BaseModel

from recommenders import search_space

BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def described(settings: type[BaseModel]) -> dict[str, str]:
    """Describe each setting.

    Examples
    --------
    >>> from recommenders import systems
    >>> described(systems()["puresvd"].settings)
    {'factors': '30; >= 1; <= 2000; searched in 5 to 200, log'}
    """
    space = search_space(settings)
    descriptions = {}
    for name, field in settings.model_json_schema().get("properties", {}).items():
        parts = [str(field.get("default", "required"))]
        # What may be left out has its bounds beside null.
        facts = field | field.get("anyOf", [{}])[0]
        parts += [f"{sign} {facts[bound]}" for bound, sign in BOUNDS.items() if bound in facts]
        if name in space:
            parts.append(f"searched in {space[name]}")
        descriptions[name] = "; ".join(parts)
    return descriptions
