"""Small damages to lines of valid files."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

N_LINES = 6

BYTES = [bytes([byte]) for byte in range(256)]
WHITE = [*" \t\r\n\v\f\u00a0\u2028\u0085\x1c", "  ", "\n\n", "\r\n"]
MARKS = [*"\0#\"',\\é\ufeff\u0661", "", "NULL", "NA", "true", "x" * 300]
SCORES = ("nan", "inf", "-Infinity", "1e400", "1e-400", "0x1p3", "1_0", ".5", "5.", "+7", "--1")
NUMBERS = ("e5", ".", "1,5", "3.5", "-1", "-0.0", "0", "00012", "2147483648", "-2147483648", "1e5")
LONG = ("9007199254740993", "1234567890" * 3, "1" * 400, "1" * 5000, "0" * 5000, "." + "1" * 5000)
HUGE = ("16777217", "16777216", "1e" + "9" * 20, "-1e-" + "9" * 20, "1e" + "9" * 5000)
NOT_UTF8 = (b"\xff", b"\xc3", b"\xed\xa0\x80")
PIECES = (
    *(piece.encode() for piece in (*WHITE, *MARKS, *SCORES, *NUMBERS, *LONG, *HUGE)),
    *NOT_UTF8,
)


def valid_run(random: Random) -> list[bytes]:
    """Lines of a run over few topics and documents, so that damages collide."""
    pairs = random.sample([(topic, item) for topic in "uvw" for item in range(8, 13)], N_LINES)
    scores = [random.choice(["1", "2", "2.5", "-3e-1", "0.1", "1e3"]) for _ in pairs]
    return [
        f"{topic} Q0 {item} {rank} {score} s".encode()
        for rank, ((topic, item), score) in enumerate(zip(pairs, scores, strict=True), start=1)
    ]


def valid_qrels(random: Random) -> list[bytes]:
    """Lines of qrels over few topics and documents."""
    pairs = random.sample([(topic, item) for topic in "uvw" for item in range(8, 13)], N_LINES)
    return [f"{topic} 0 {item} {random.randint(-1, 4)}".encode() for topic, item in pairs]


def mutate(line: bytes, random: Random) -> bytes:
    """Damage a line in one place."""
    return random.choice(MUTATIONS)(line, random)


def damaged_file(lines: list[bytes], n_damaged: int, random: Random) -> bytes:
    """Join lines, some of them damaged, now and then with odd ends."""
    for position in random.sample(range(len(lines)), n_damaged):
        lines = [*lines[:position], mutate(lines[position], random), *lines[position + 1 :]]
    end = random.choice([b"\n"] * 8 + [b"", b"\r\n", b"\n\n", b" \n"])
    return b"\n".join(lines) + end


def _replace_byte(line: bytes, random: Random) -> bytes:
    at = random.randrange(len(line))
    return line[:at] + random.choice(BYTES) + line[at + 1 :]


def _insert(line: bytes, random: Random) -> bytes:
    at = random.randrange(len(line) + 1)
    return line[:at] + random.choice(PIECES) + line[at:]


def _delete(line: bytes, random: Random) -> bytes:
    start = random.randrange(len(line))
    return line[:start] + line[start + random.randint(1, 4) :]


def _replace_field(line: bytes, random: Random) -> bytes:
    fields = line.split(b" ")
    fields[random.randrange(len(fields))] = random.choice(PIECES)
    return b" ".join(fields)


def _swap_fields(line: bytes, random: Random) -> bytes:
    fields = line.split(b" ")
    one, other = random.sample(range(len(fields)), 2)
    fields[one], fields[other] = fields[other], fields[one]
    return b" ".join(fields)


def _drop_or_double_field(line: bytes, random: Random) -> bytes:
    fields = line.split(b" ")
    at = random.randrange(len(fields))
    return b" ".join(fields[:at] + fields[at : at + 1] * random.choice([0, 2]) + fields[at + 1 :])


def _random_number(line: bytes, random: Random) -> bytes:
    """Put in a number of random shape where scores and grades stand."""
    digits = "".join(random.choices("0123456789", k=random.choice([1, 2, 5, 17, 20])))
    point = random.randrange(len(digits) + 1)
    text = random.choice([digits, f"{digits[:point]}.{digits[point:]}"])
    exponent = random.choice(["", "", f"e{random.randint(-330, 320)}", f"E+{random.randint(0, 9)}"])
    fields = line.split(b" ")
    fields[4 if len(fields) == 6 else 3] = (
        random.choice(["", "-", "+"]) + text + exponent
    ).encode()
    return b" ".join(fields)


def _double_line(line: bytes, random: Random) -> bytes:
    return line + b"\n" + line


MUTATIONS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _replace_byte,
    _insert,
    _delete,
    _replace_field,
    _swap_fields,
    _drop_or_double_field,
    _random_number,
    _double_line,
)
