"""Pages as tests read them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What a page refers to, how it nests, and what it says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.references += [values[name] for name in ("src", "href") if name in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
