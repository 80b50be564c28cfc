"""Numbers as readers write them: 0.25, 5/8, 2 ln 3, 62.5%, 10^-3.

A text is read by the few rules below, and never run as a program. A text with
two meanings is refused, and each refusal says in words what could not be read.
`course/figures/practice/numerals.js` follows the same rules.
"""

import math
import re

LONGEST, DEEPEST = 100, 20  # characters, and brackets or functions in another
HOW_TO_TYPE = "Type one number in each field, such as 0.25, 5/8 or 2 ln 3."
POINT = "A comma groups thousands, as in 7,241.7. Decimals follow a point."
NAN = "NaN comes from 0/0, inf - inf or 0 * inf."
TOO_LONG = f"At most {LONGEST} characters can be read."
TOO_DEEP = f"At most {DEEPEST} brackets or functions can be in one another."
BESIDE = "What is between the two numbers that stand side by side?"
DIVIDED = "Put brackets around what the fraction bar divides by."
OPEN = "A bracket is not closed."
CLOSED = "A bracket is closed that was not opened."
EMPTY = "Nothing is in the brackets."
BY_ZERO = "A division by 0 has no value."
NO_VALUE = "That has no value, or too large a one."
WHICH_LOG = "Write ln for the natural logarithm, and log2 or log10 for others."

# Not \\s, by which JavaScript means other characters.
BLANK = "[ \\t\\n\\r\\u00a0\\u2009\\u202f]"
TOKEN = re.compile(
    rf"{BLANK}*([0-9.,]+(?:[eE][+-]?[0-9]+)?|log(?:10|2)(?![0-9])|[A-Za-z]+"
    r"|\*\*|.)",
    re.S,
)
# A comma groups three digits, as in 7,241.7.
DECIMAL = re.compile(
    r"(?:(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.([0-9]*))?|\.([0-9]+))"
    r"(?:[eE]([+-]?[0-9]+))?"
)
MINUS = str.maketrans("−–", "--")
TIMES, OVER, POWER = ("*", "×", "·", "⋅"), ("/", "÷"), ("^", "**")
OPERATORS = (*TIMES, *OVER, *POWER, "+", "-")
CONSTANTS = {"e": math.e, "pi": math.pi, "π": math.pi}
FUNCTIONS = {
    "sqrt": math.sqrt, "√": math.sqrt, "exp": math.exp, "ln": math.log,
    "log2": math.log2, "log10": math.log10, "sin": math.sin,
    "cos": math.cos, "tan": math.tan, "tanh": math.tanh,
}  # fmt: skip


class Unread(ValueError):
    """A text is not a number; the message says in words why."""


def is_blank(text):
    return re.fullmatch(f"{BLANK}*", text) is not None


def tokens_of(text):
    """Return the numbers, names and signs of a text.

    Examples
    --------
    >>> tokens_of("2 ln(3e-1) − √8")
    ['2', 'ln', '(', '3e-1', ')', '-', '√', '8']
    """
    text = re.sub(f"{BLANK}+$", "", text.translate(MINUS))
    return TOKEN.findall(text)


def digits_of(text):
    """Return how many decimals a plain number has; None for an expression.

    Examples
    --------
    >>> digits_of("−0.50"), digits_of("3e2"), digits_of("1/4")
    (2, -2, None)
    """
    sign, *rest = [*tokens_of(text), ""]
    number = DECIMAL.fullmatch(rest[0] if sign in ("+", "-") else sign)
    if not number or len(tokens_of(text)) > 1 + (sign in ("+", "-")):
        return None
    behind, alone, exponent = number.groups()
    return len(behind or alone or "") - int(exponent or 0)


def read(text):
    """Return the value of a text, or raise `Unread`.

    Examples
    --------
    >>> read("5/8"), read("62.5%"), read("2*10^3"), read("7,241.7")
    (0.625, 0.625, 2000.0, 7241.7)
    >>> read("1/(2 + 2)"), read("e^-2 exp(2)"), read("-2^2")
    (0.25, 1.0, -4.0)
    >>> read("2 sin")
    Traceback (most recent call last):
    course.questions.numerals.Unread: sin of what?
    """
    if len(text) > LONGEST:
        raise Unread(TOO_LONG)
    reader = _Reader(tokens_of(text))
    value = reader.sum()
    if reader.next is not None:
        raise Unread(reader.odd())
    return value


def parse(text):
    """Return the value of a text, or None if it is not one.

    Examples
    --------
    >>> parse("1/4"), parse("−0.5"), parse("a half"), parse("7,2")
    (0.25, -0.5, None, None)
    """
    try:
        return read(text)
    except Unread:
        return None


def _finite(operation, *numbers):
    """The result of an operation on numbers, if it is a finite number."""
    try:
        value = operation(*numbers)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise Unread(NO_VALUE)
    return value


class _Reader:
    """The rules, each of which reads a part of the tokens.

    A sum has products, a product powers, and a power operands. A function
    without brackets is of the one number behind it.
    """

    def __init__(self, tokens):
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.bare = ""  # the function that was just read without brackets

    @property
    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, *wanted):
        """Go past the next token and return it, if it is one of these."""
        found = self.next if not wanted or self.next in wanted else None
        self.at += found is not None
        return found

    def odd(self):
        """The fault of the next token, in words."""
        token, before = self.next, self.tokens[self.at - 1 : self.at]
        if before == ["("] and token in (None, ")"):
            return OPEN if token is None else EMPTY
        ends = token is None or (token == ")" and set(before) & set(OPERATORS))
        if token in OPERATORS or ends:
            if before in ([], ["("]):
                return f"A number is missing before “{token}”."
            return f"A number is missing after “{before[0]}”."
        if token == ")":
            return CLOSED
        if "," in token or token.count(".") > 1:
            return POINT
        if token.lower() == "nan":
            return NAN
        if token.lower() == "log":
            return WHICH_LOG
        return f"“{token}” cannot be read. {HOW_TO_TYPE}"

    def unclear(self):
        return f"Put brackets around what {self.bare} is of."

    def begins(self):
        """Whether an operand that is not a number begins here."""
        token = self.next
        return token is not None and (
            token == "(" or token.lower() in CONSTANTS | FUNCTIONS
        )

    def sum(self):
        value = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            value = _finite(float.__add__, value, other * float(f"{sign}1"))
        return value

    def product(self):
        value, divided = self.signed(), False
        while self.next is not None:
            if self.take(*TIMES):
                value = _finite(float.__mul__, value, self.signed())
                divided = False
            elif self.take(*OVER):
                below = self.signed()
                if below == 0:
                    raise Unread(BY_ZERO)
                value, divided = _finite(float.__truediv__, value, below), True
            elif self.begins():
                if self.bare:
                    raise Unread(self.unclear())
                if divided:
                    raise Unread(DIVIDED)
                value = _finite(float.__mul__, value, self.power())
            elif DECIMAL.fullmatch(self.next):
                raise Unread(BESIDE)
            else:
                break
        return value

    def signed(self):
        sign = self.take("+", "-")
        return -self.power() if sign == "-" else self.power()

    def power(self):
        base = self.operand()
        if self.take("%"):
            base /= 100
        if self.next not in POWER:
            return base
        if self.bare:
            raise Unread(self.unclear())
        self.take()
        return _finite(math.pow, base, self.deeper(self.signed))

    def deeper(self, rule):
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unread(TOO_DEEP)
        value = rule()
        self.depth -= 1
        return value

    def operand(self):
        self.bare = ""
        token = self.next
        if token is None:
            raise Unread(self.odd())
        name = token.lower()
        number = DECIMAL.fullmatch(token)
        if number:
            self.take()
            return _finite(float, token.replace(",", ""))
        if name in CONSTANTS:
            self.take()
            return CONSTANTS[name]
        if name in FUNCTIONS:
            return self.function(name)
        if not self.take("("):
            raise Unread(self.odd())
        value = self.deeper(self.sum)
        if not self.take(")"):
            raise Unread(OPEN if self.next is None else self.odd())
        self.bare = ""
        return value

    def function(self, name):
        self.take()
        bare = self.next != "("
        if not self.begins() and not DECIMAL.fullmatch(self.next or ""):
            raise Unread(f"{name} of what?")
        value = self.deeper(self.operand)
        self.bare = name if bare else ""
        return _finite(FUNCTIONS[name], value)
