"""Make every small change to a Python program.

A check is tried on the changed programs (tests/book/test_practice.py).
"""

import ast
import re
from collections import Counter

KINDS = """Add Sub Mult,Mult Div,Div FloorDiv Mod,Pow Mult,MatMult Mult,And Or,
BitAnd BitOr BitXor,Lt LtE,Gt GtE,Lt Gt,LtE GtE,Eq NotEq,Eq LtE GtE,Is IsNot,
In NotIn,any all,min max,argmin argmax,minimum maximum,sin cos,exp log,
floor ceil,zeros ones,tril triu,sum mean,rint trunc,isnan isinf""".split(",")
AROUND = {  # expressions that replace an expression, by its field or statement
    "iter": ["{}[1:]", "{}[:-1]", "{}[-1:]"],
    "test": ["not {}", "False"],
    "Return": ["-{}", "{} + 1", "2 * {}", "{}[0]", "{}[-1:]"],
}
LISTS = {"args", "elts", "keywords", "values", "ifs"}
APART = "annotation", "returns", "decorator_list"


def others(name):
    kinds = (kind.split() for kind in KINDS)
    return [n for kind in kinds if name in kind for n in kind if n != name]


def but(node, field, new):
    return type(node)(**(vars(node) | {field: new}))


def changes(node, names):
    """Yield the replacements of a node. Any text may stand in a `Name`."""
    text = ast.unparse(node)
    yield from (getattr(ast, new)() for new in others(type(node).__name__))
    for field, items in ast.iter_fields(node):
        listed = field in LISTS and isinstance(items, list)
        for i, item in enumerate(items if listed else ()):
            yield but(node, field, items[:i] + items[i + 1 :])
            if i and field in ("args", "elts"):
                pair = [item, items[i - 1]]
                yield but(node, field, items[: i - 1] + pair + items[i + 1 :])
    if re.fullmatch(r"len\(\w+\)|\w+\.(size|shape\[.*\])", text):
        sizes = (f"len({n}) {n}.shape[-1]" for n in names)
        yield from map(ast.Name, " ".join(["(1) (2) (3) (4)", *sizes]).split())
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.IfExp):
        yield from (x for x in vars(node).values() if isinstance(x, ast.expr))
    match node:
        case ast.Name(name, ast.Load()):
            more = [*names, "(1)", "(2)", "(3)"]
            yield from map(ast.Name, more if name in names else others(name))
        case ast.Attribute(x, attr):
            yield from [x] * (attr == "T")
            yield from (but(node, "attr", new) for new in others(attr))
        case ast.BinOp(a, op, b) if not isinstance(op, ast.Add | ast.Mult):
            yield ast.BinOp(b, op, a)
            if isinstance(op, ast.MatMult):
                yield ast.BinOp(ast.Attribute(a, "T"), op, b)
                yield ast.BinOp(a, op, ast.Attribute(b, "T"))
        case ast.Constant(int(n) | float(n)):
            news = {n + 1, n - 1, 0, 2 * n, -n, n / 2} - {n}
            yield from map(
                ast.Constant, [not n] if isinstance(n, bool) else news
            )
        case ast.Call(func, args):
            yield from (a for a in args if not isinstance(a, ast.Starred))
            yield from map(ast.Name, [f"{text}[:-1]", f"{text}[1:]"])
            if isinstance(func, ast.Attribute):
                x = f"({ast.unparse(func.value)})"
                yield from map(ast.Name, [x, f"{x}[..., :1]", f"{x}.flat[0]"])
        case ast.Subscript(x):
            yield x
        case ast.Slice():
            yield from (but(node, end, None) for end in node._fields)
        case ast.Assign() | ast.AugAssign() | ast.Expr(ast.Call()):
            yield ast.Pass()


def variants(node, names, f=None, around=()):
    """Yield the changed function's name, and the node with one change."""
    if f and isinstance(node, ast.AST):
        wraps = (ast.Name(t.format(f"({ast.unparse(node)})")) for t in around)
        yield from ((f.name, new) for new in [*changes(node, names), *wraps])
    f = node if isinstance(node, ast.FunctionDef) else f
    for field in [n for n in getattr(node, "_fields", ()) if n not in APART]:
        value = getattr(node, field)
        items = value if isinstance(value, list) else [value]
        around = AROUND.get(field, AROUND.get(type(node).__name__, ()))
        for i, item in enumerate(items):
            for name, new in variants(item, names, f, around):
                listed = [*items[:i], new, *items[i + 1 :]]
                yield name, but(node, field, listed if items is value else new)


def mutants(source):
    """Yield a function's name, its changed line, and the changed program."""
    tree = ast.parse(source)
    names = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    old = ast.unparse(tree)
    before = Counter(old.split("\n"))
    programs = {ast.unparse(new): name for name, new in variants(tree, names)}
    for program in [text for text in programs if text != old]:
        lines = Counter(program.split("\n"))
        line = " ".join(lines - before).strip()
        if line in ("", "pass"):  # a statement less: say which
            line = f"without `{' '.join(before - lines).strip()}`"
        yield programs[program], line, program
