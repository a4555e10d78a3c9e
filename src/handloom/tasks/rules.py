"""Rules about strings, given as text. They are parsed here, and never evaluated as Python.

    >>> rule = parse_rule("s[1]==s[-1] and not count(1) % 2 == 1")
    >>> rule.holds("0110"), rule.holds("0100"), rule.positions(4)
    (True, False, [1, 4])
    >>> parse_rule("s[18] = s[39], s[31] = s[44], s[4] = s[-28]").positions(200)
    [4, 18, 31, 39, 44, 173]

Digits are counted from 1, and s[-1] is the last. n is the length, count(1) is how often a symbol occurs, sum(s) is the
sum of the digits. If the alphabet has symbols other than digits, they are compared, but not added: s[1]=="a".

    rule        either {"," either}                        a comma is one more `and`
    either      both {"or" both}
    both        negation {"and" negation}
    negation    "not" negation | comparison
    comparison  sum {("==" | "=" | "!=" | "<" | "<=" | ">" | ">=") sum}
    sum         product {("+" | "-") product}
    product     sign {"*" sign | "%" number}
    sign        ("-" | "+") sign | atom
    atom        number | "n" | "s[" sum "]" | "count(" symbol ")" | "sum(s)" | '"a"' | "(" rule ")"
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.tasks.rule_parts import (
    COMPARE,
    DIGITS,
    Arithmetic,
    Comparison,
    CountOf,
    Digit,
    Join,
    Length,
    Not,
    Number,
    Part,
    Symbol,
    Total,
    Value,
    bound,
    meaning,
    walk,
)

LONGEST_TEXT, DEEPEST, LARGEST = 10_000, 30, 10**18  # of a rule: characters, nested brackets, the largest number
TOKEN = re.compile(r"""\s*(?:([0-9]+|[A-Za-z]+|"[^"]*"|'[^']*'|[=!<>]=|[][()=<>,+*%-])|(\S)|$)""")
AN_ATOM = "a number, n, s[…], count(…) or sum(s)"


@dataclass(frozen=True)
class Rule:
    """A condition on strings of an alphabet."""

    text: str
    alphabet: str
    tree: Part

    @cached_property
    def value(self) -> Value:
        return meaning(self.tree, self.alphabet)

    def holds(self, string: str) -> bool:
        """Whether it holds for a string. It does not if the string lacks a digit that the rule names."""
        try:
            return bool(self.value(string))
        except IndexError:
            return False

    @cached_property
    def digits(self) -> list[tuple[Digit, Value]]:
        """Its s[…], each with a function that gives its place, from 1, in a string."""
        found = dict.fromkeys(part for part in walk(self.tree) if isinstance(part, Digit))
        return [(digit, meaning(digit.index, self.alphabet)) for digit in found]

    def positions(self, n: int) -> list[int]:
        """The digits, from 1, that it names in strings of this length."""
        string = self.alphabet[0] * n
        return sorted({place(string) for _, place in self.digits})

    @property
    def counted(self) -> str:
        """The symbols that it counts."""
        parts = list(walk(self.tree))
        every = any(isinstance(part, Total) for part in parts)
        return self.alphabet if every else "".join({part.symbol: 1 for part in parts if isinstance(part, CountOf)})

    @property
    def only_of_length(self) -> bool:
        """Whether it holds for all strings of one length or for none."""
        return not self.digits and not self.counted

    def conditions(self) -> Iterator["Rule"]:
        """Rules that all hold exactly if this one does."""
        if isinstance(self.tree, Join) and self.tree.word == "and":
            for part in self.tree.parts:
                yield from Rule(self.text, self.alphabet, part).conditions()
        else:
            yield self

    def check(self, shortest: int, longest: int) -> None:
        """Raise an error if the rule names a digit that strings of some length do not have."""
        for digit, place in self.digits:
            places = {n: place(self.alphabet[0] * n) for n in range(shortest, longest + 1)}
            if not (without := [n for n, at in places.items() if not 1 <= at <= n]):
                continue
            if longest in without:
                remedy = f"name one from 1 to {longest}, or from -1 to -{longest} counted from the end"
            else:
                remedy = f"lengths must start at {without[-1] + 1}"
            lacking = f"a string of length {without[-1]} has no {digit.text}"
            raise HandloomError(f"rule {shown(self.text)}: {lacking}; {remedy}")


def parse_rule(text: str, alphabet: str = "01") -> Rule:
    """The rule that a text describes; the empty text is the rule that always holds."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise HandloomError(f"a rule is text of up to {LONGEST_TEXT} characters, such as s[13]==s[22]")
    return Rule(text, alphabet, Parser(text, alphabet).whole() if text.strip() else Join("and", ()))


class Token(NamedTuple):
    text: str  # nothing at the end of the rule
    at: int


class Parser:
    """Reads a rule from left to right, with one method per line of the grammar."""

    def __init__(self, text: str, alphabet: str) -> None:
        self.text, self.alphabet = text, alphabet
        self.numeric = set(alphabet) <= set(DIGITS)
        self.tokens = [Token(m[1] or m[2] or "", m.start(m.lastindex or 0)) for m in TOKEN.finditer(text.rstrip())]
        self.tokens = [*(token for token in self.tokens if token.text), Token("", len(text.rstrip()))]
        self.next = self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def take(self, *texts: str) -> str | None:
        """The next token, if it is one of these."""
        if (text := self.token.text) not in texts:
            return None
        self.next += 1
        return text

    def need(self, *texts: str) -> None:
        if self.take(*texts) is None:
            raise self.expected(" or ".join(texts))

    def expected(self, what: str) -> HandloomError:
        found = shown(self.token.text) if self.token.text else "the end"
        return self.error(f"expected {what} at character {self.token.at + 1}, not {found}")

    def error(self, what: str) -> HandloomError:
        return HandloomError(f"rule {shown(self.text)}: {what}; write a rule such as s[13]==s[22] or count(1)%2==0")

    def whole(self) -> Part:
        tree = self.rule()
        if self.token.text:
            raise self.expected("and, or, a comma, a comparison or the end")
        return self.condition(tree, 0)

    def rule(self) -> Part:
        return self.joined(self.either, ",", "and")

    def either(self) -> Part:
        return self.joined(self.both, "or", "or")

    def both(self) -> Part:
        return self.joined(self.negation, "and", "and")

    def joined(self, part: Callable[[], Part], sign: str, word: str) -> Part:
        """One part, or several with a word between them."""
        at = self.token.at
        parts = [part()]
        while self.take(sign):
            self.condition(parts[-1], at)
            at = self.token.at
            parts.append(part())
        return Join(word, (*parts[:-1], self.condition(parts[-1], at))) if len(parts) > 1 else parts[0]

    def negation(self) -> Part:
        if not self.take("not"):
            return self.comparison()
        at = self.token.at
        return Not(self.condition(self.nested(self.negation), at))

    def comparison(self) -> Part:
        first, rest = self.sum(), []
        while sign := self.take(*COMPARE):
            here = self.token.at
            rest.append((sign, self.sum()))
            kinds = [self.kind(first), self.kind(rest[-1][1])]
            if "a condition" in kinds or kinds[0] != kinds[1]:
                hint = "" if self.numeric else ' (symbols are written in quotes, as in s[1]=="a")'
                raise self.error(f"cannot compare {kinds[0]} with {kinds[1]} at character {here + 1}{hint}")
        return Comparison(first, tuple(rest)) if rest else first

    def sum(self) -> Part:
        at = self.token.at
        first, rest = self.product(), []
        while sign := self.take("+", "-"):
            here = self.token.at
            rest.append((sign, self.number(self.product(), here)))
        return self.small(Arithmetic(self.number(first, at), tuple(rest)), at) if rest else first

    def product(self) -> Part:
        at = self.token.at
        first, rest = self.sign(), []
        while sign := self.take("*", "%"):
            here = self.token
            right = self.number(self.sign(), here.at)
            if sign == "%" and not (isinstance(right, Number) and right.value > 0):
                raise self.error(f"expected a number above 0 after % at character {here.at + 1}")
            rest.append((sign, right))
        return self.small(Arithmetic(self.number(first, at), tuple(rest)), at) if rest else first

    def sign(self) -> Part:
        if not (sign := self.take("-", "+")):
            return self.atom()
        at = self.token.at
        return Arithmetic(Number(0), ((sign, self.number(self.nested(self.sign), at)),))

    def atom(self) -> Part:
        text, at = self.token
        if text.isascii() and text.isdecimal():
            self.next += 1
            return self.small(Number(int(text) if len(text) <= 20 else LARGEST + 1), at)
        if text[:1] in ("'", '"') and len(text) > 1:
            symbol = self.symbol()
            return Number(int(symbol)) if self.numeric else Symbol(symbol)
        match self.take("(", "n", "s", "count", "sum"):
            case "(":
                part = self.nested(self.rule)
                self.need(")")
                return part
            case "n":
                return Length()
            case "s":
                return self.digit(at)
            case "count":
                self.need("(")
                symbol = self.symbol()
                self.need(")")
                return CountOf(symbol)
            case "sum":
                for sign in "(s)":
                    self.need(sign)
                if not self.numeric:
                    raise self.error(f"only digits have a sum(s), and the alphabet is {shown(self.alphabet)}")
                return Total()
        raise self.expected(AN_ATOM)

    def digit(self, start: int) -> Digit:
        """s[…]; a number below 0 counts from the end."""
        self.need("[")
        at = self.token.at
        index = self.number(self.nested(self.sum), at)
        end = self.token.at + 1
        self.need("]")
        parts = list(walk(index))
        if any(isinstance(part, Digit | CountOf | Total) for part in parts):
            raise self.error(f"expected numbers and n only inside s[…] at character {at + 1}")
        if not any(isinstance(part, Length) for part in parts):
            place = meaning(index, self.alphabet)("")
            if not place:
                raise self.error("there is no s[0]: digits are counted from 1, and s[-1] is the last")
            index = Number(place) if place > 0 else Arithmetic(Length(), (("+", Number(place + 1)),))
        return Digit(index, "".join(self.text[start:end].split()))

    def symbol(self) -> str:
        """One symbol of the alphabet, in quotes or not."""
        symbol = self.token.text
        symbol = symbol[1:-1] if symbol[:1] in ("'", '"') else symbol
        if len(symbol) != 1 or symbol not in self.alphabet:
            raise self.expected(f"one symbol of the alphabet {shown(self.alphabet)}")
        self.next += 1
        return symbol

    def nested(self, part: Callable[[], Part]) -> Part:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"brackets, signs and `not` may be nested up to {DEEPEST} deep")
        read = part()
        self.depth -= 1
        return read

    def kind(self, part: Part) -> str:
        if isinstance(part, Comparison | Join | Not):
            return "a condition"
        return "a symbol" if isinstance(part, Symbol) or (isinstance(part, Digit) and not self.numeric) else "a number"

    def condition(self, part: Part, at: int) -> Part:
        return self.of_kind("a condition", part, at)

    def number(self, part: Part, at: int) -> Part:
        return self.of_kind("a number", part, at)

    def of_kind(self, kind: str, part: Part, at: int) -> Part:
        if (found := self.kind(part)) != kind:
            raise self.error(f"expected {kind} at character {at + 1}, and {found} is there")
        return part

    def small(self, part: Part, at: int) -> Part:
        if bound(part) > LARGEST:
            raise self.error(f"the number at character {at + 1} may pass 10^18")
        return part
