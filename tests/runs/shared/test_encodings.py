"""Characters of text: encodings that are named, marks that decide, and NULs that betray UTF-16."""

import codecs

import pytest

from runs import InputError
from runs.shared.encodings import as_utf_8

TEXT = "user;item\nJosé;año\n"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-32-be"])
def test_a_text_in_a_named_encoding_becomes_utf_8(encoding: str) -> None:
    assert as_utf_8("a.csv", TEXT.encode(encoding), encoding) == TEXT.encode()


@pytest.mark.parametrize("named", ["utf-8", "latin-1", "utf-16-be", "utf-16"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_whatever_is_named(
    mark: bytes, encoding: str, named: str
) -> None:
    assert as_utf_8("a.csv", mark + TEXT.encode(encoding), named) == TEXT.encode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("named", ["utf-8", "latin-1"])
def test_nuls_without_a_mark_name_the_encoding(encoding: str, named: str) -> None:
    with pytest.raises(InputError, match=f"NUL bytes, as {encoding} has.*`--encoding {encoding}`"):
        as_utf_8("a.csv", TEXT.encode(encoding), named)


def test_ids_of_other_scripts_do_not_hide_utf_16() -> None:
    text = "用户甲\t商品乙\t5\n" * 9
    with pytest.raises(InputError, match="as utf-16-le has"):
        as_utf_8("a.csv", text.encode("utf-16-le"))


@pytest.mark.parametrize(
    ("written", "named", "seeming"),
    [
        ("utf-16-le", "utf-16-be", "it seems to be utf-16-le"),
        ("utf-16-be", "utf-16", "it seems to be utf-16-be"),
        ("utf-8", "utf-16", "it has no NUL bytes"),
        ("latin-1", "utf-32-le", "it has no NUL bytes"),
    ],
)
def test_a_wrong_encoding_of_two_or_four_bytes_is_refused(
    written: str, named: str, seeming: str
) -> None:
    with pytest.raises(InputError, match=f"not {named}: {seeming}"):
        as_utf_8("a.csv", TEXT.encode(written), named)


@pytest.mark.parametrize(
    ("content", "proposed"), [("José".encode("latin-1"), "latin-1"), (b"\x80 \xe9", "cp1252")]
)
def test_bytes_that_are_not_utf_8_propose_the_code_page_that_has_them(
    content: bytes, proposed: str
) -> None:
    with pytest.raises(InputError, match=f"line 2: byte .*`--encoding {proposed}`"):
        as_utf_8("a.csv", b"user\n" + content)


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", ""])
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="`encoding` must be one that Python knows"):
        as_utf_8("a.csv", b"a", name)


def test_bytes_that_an_encoding_lacks_are_refused() -> None:
    with pytest.raises(InputError, match="not ascii"):
        as_utf_8("a.csv", b"\xe9", "ascii")


def test_lines_that_end_with_cr_alone_end_with_lf() -> None:
    assert as_utf_8("a.csv", b"a,b\r1,2\r") == b"a,b\n1,2\n"
    assert as_utf_8("a.csv", b"a,b\r\n1,2\r\n") == b"a,b\r\n1,2\r\n"


def test_the_line_that_tells_excel_the_separator_is_blank() -> None:
    assert as_utf_8("a.csv", b"sep=;\r\na;b\n") == b"\r\na;b\n"
    assert as_utf_8("a.csv", b"sep=1;2\na;b\n") == b"sep=1;2\na;b\n"


def test_an_empty_text_stays_empty() -> None:
    assert as_utf_8("a.csv", b"") == b""
