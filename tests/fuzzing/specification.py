"""trec_eval's rules for run and qrels files, written down literally and slowly.

Nothing of ours is used here. What a reader may do with a line is either take it, skip it or refuse
the file; a file that is taken is a dictionary of topics.
"""

from __future__ import annotations

from fractions import Fraction

BLANKS = b" \t\r\v\f"
DIGITS = b"0123456789"
HIGHEST_GRADE = 2**31 - 1
MOST_DIGITS = 1000  # no two doubles meet beyond 770 digits

Ranked = dict[str, list[str]]
Grades = dict[str, dict[str, int]]


class RefusedError(Exception):
    """The file breaks a rule."""


def read_run(content: bytes) -> tuple[str, Ranked]:
    """Give the tag, and the documents of every topic in trec_eval's order."""
    scores: dict[bytes, list[tuple[float, bytes]]] = {}
    tags: set[bytes] = set()
    for line in lines(content):
        fields = split(line)
        if not fields or fields[0][:1] == b"#":
            continue
        if len(fields) < 6 or (len(fields) > 6 and not is_plain_number(fields[3])):
            raise RefusedError
        topic, _, document, _, score, tag = fields[:6]
        refuse_long(topic, document, tag)
        tags.add(tag)
        ranked = scores.setdefault(topic, [])
        if document in [other for _, other in ranked]:
            raise RefusedError
        ranked.append((number(score), document))
    if len(tags) != 1:
        raise RefusedError
    ordered = {topic: sorted(ranked, reverse=True) for topic, ranked in scores.items()}
    return tags.pop().decode(), {
        topic.decode(): [document.decode() for _, document in ordered[topic]] for topic in scores
    }


def read_qrels(content: bytes) -> Grades:
    """Give the grades of every topic; of several subtopics, the highest grade of a document."""
    judgements: list[tuple[str, bytes, str, int]] = []
    for line in lines(content):
        fields = split(line)
        if fields and fields[0][:1] == b"#":
            continue
        if len(fields) != 4:
            raise RefusedError
        refuse_long(fields[0], fields[2])
        topic, document = fields[0].decode(), fields[2].decode()
        judgements.append((topic, fields[1], document, whole(fields[3])))
    if not judgements:
        raise RefusedError
    # Second fields that differ are subtopics: ids like others.
    second_fields = {second for _, second, _, _ in judgements}
    if len(second_fields) > 1:
        refuse_long(*second_fields)
    if len({judgement[:3] for judgement in judgements}) < len(judgements):
        raise RefusedError
    grades: Grades = {}
    for topic, _, document, grade in judgements:
        judged = grades.setdefault(topic, {})
        judged[document] = max(grade, judged.get(document, grade))
    return grades


def refuse_long(*names: bytes) -> None:
    """Ids and tags have at most a thousand characters."""
    if any(len(name.decode()) > 1000 for name in names):
        raise RefusedError


def lines(content: bytes) -> list[bytes]:
    """Split at newlines alone; a file is UTF-8 without NULs and byte order mark."""
    if b"\0" in content or content[:3] == b"\xef\xbb\xbf":
        raise RefusedError
    try:
        content.decode()
    except UnicodeDecodeError:
        raise RefusedError from None
    found, line = [], b""
    for position in range(len(content)):
        byte = content[position : position + 1]
        if byte == b"\n":
            found.append(line)
            line = b""
        else:
            line += byte
    return [*found, line] if line else found


def split(line: bytes) -> list[bytes]:
    """Split at white space of ASCII alone."""
    fields, field = [], b""
    for byte in line:
        if byte in BLANKS:
            if field:
                fields.append(field)
            field = b""
        else:
            field += bytes([byte])
    return [*fields, field] if field else fields


def unsigned(text: bytes) -> bytes:
    """Take one sign off."""
    return text[1:] if text[:1] in (b"+", b"-") else text


def is_digits(text: bytes) -> bool:
    return text != b"" and all(byte in DIGITS for byte in text)


def is_plain_number(text: bytes) -> bool:
    """A number as ranks are: digits, perhaps a sign, perhaps decimals."""
    before, _, after = unsigned(text).partition(b".")
    return is_digits(before) and (after == b"" or is_digits(after))


def number(text: bytes) -> float:
    """A decimal number or an infinity, rounded once to a double."""
    sign = -1 if text[:1] == b"-" else 1
    magnitude = unsigned(text).lower()
    if magnitude in (b"inf", b"infinity"):
        return sign * float("inf")
    mantissa, e, exponent = magnitude.partition(b"e")
    before, _, after = mantissa.partition(b".")
    if not is_digits(before + after) or (e and not is_digits(unsigned(exponent))):
        raise RefusedError
    return sign * rounded(before + after, bounded(exponent) - len(after))


def bounded(exponent: bytes) -> int:
    """An exponent; one of more than six digits is as good as a million."""
    digits = unsigned(exponent).lstrip(b"0")
    size = 10**6 if len(digits) > 6 else int(digits or b"0")
    return -size if exponent[:1] == b"-" else size


def rounded(digits: bytes, power: int) -> float:
    """Round ``digits * 10**power`` to the nearest double; beyond the largest lies infinity."""
    digits = digits.lstrip(b"0")
    if len(digits) > MOST_DIGITS:
        power += len(digits) - MOST_DIGITS
        digits = digits[: MOST_DIGITS - 1] + b"1"
    if not digits or len(digits) + power < -400:
        return 0.0
    if len(digits) + power > 400:
        return float("inf")
    try:
        return float(int(digits) * Fraction(10) ** power)
    except OverflowError:
        return float("inf")


def whole(text: bytes) -> int:
    """A whole number that fits the grades of ours."""
    if not is_digits(unsigned(text)):
        raise RefusedError
    if len(unsigned(text).lstrip(b"0")) > len(str(HIGHEST_GRADE)):
        raise RefusedError
    grade = int(unsigned(text).lstrip(b"0") or b"0") * (-1 if text[:1] == b"-" else 1)
    if abs(grade) > HIGHEST_GRADE:
        raise RefusedError
    return grade
