"""What a page holds, as an HTML parser sees it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

BLOCKS = {"dt", "dd", "b", "th", "td", "small", "li", "p", "tr"}
"""What stands apart on the page without a blank between."""
EMPTY = {"meta", "br", "img", "link", "hr", "input"}


@dataclass
class Element:
    """A tag with its attributes, its place and the text inside."""

    tag: str
    attributes: dict[str, str]
    inside: list["Element"]
    text: str = ""
    classes: set[str] = field(default_factory=set)


class Elements(HTMLParser):
    """Every element of a page, in the order of the page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.all: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        classes = set(attributes.get("class", "").split())
        self.all.append(Element(tag, attributes, list(self._open), classes=classes))
        if tag not in EMPTY:
            self._open.append(self.all[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()
        if tag in BLOCKS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def by_tag(self, tag: str) -> list[Element]:
        return [element for element in self.all if element.tag == tag]
