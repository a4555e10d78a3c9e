"""HTML for tests: that it is well-formed, what it says, and that it asks for nothing from elsewhere."""

from collections import Counter
from html.parser import HTMLParser


class Balanced(HTMLParser):
    """A page whose tags are closed in the order in which they were opened; its words and what it refers to."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.tags, self.refers = [], [], Counter(), []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.refers += [value for name, value in attributes if name in ("src", "href", "xlink:href", "data", "action")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)
