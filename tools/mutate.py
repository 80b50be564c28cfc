"""Wrong programs, made from a right one by one small change each.

Operators, comparisons, numbers, indices and sizes are others; terms, rows,
arguments and statements are left out; arguments and parameters change places;
the first number stands for the largest. Texts and annotations stay.
"""

import ast
import re

SWAPS = {
    ast.Add: "Sub Mult", ast.Sub: "Add", ast.Mult: "Add Div",
    ast.Div: "Mult FloorDiv", ast.FloorDiv: "Div Mod", ast.Mod: "FloorDiv",
    ast.Pow: "Mult", ast.MatMult: "Mult", ast.BitAnd: "BitOr",
    ast.BitOr: "BitAnd BitXor", ast.And: "Or", ast.Or: "And",
    ast.Lt: "LtE Gt", ast.LtE: "Lt GtE", ast.Gt: "GtE Lt", ast.GtE: "Gt LtE",
    ast.Eq: "NotEq LtE GtE", ast.NotEq: "Eq", ast.Is: "IsNot",
    ast.IsNot: "Is", ast.In: "NotIn", ast.NotIn: "In",
}  # fmt: skip
PAIRS = """any all, min max, argmin argmax, minimum maximum, sin cos, exp log,
floor ceil, zeros ones, tril triu, sum mean, rint trunc, isnan isinf"""
SIZE = re.compile(r"len\(\w+\)|\w+\.(size|shape\[.*\])")
NAMES = dict(pair.split() for pair in PAIRS.split(","))
NAMES |= {new: old for old, new in NAMES.items()}


def codes(node, *texts):
    """Expressions with a node in the place of {}."""
    inner = f"({ast.unparse(node)})"
    return [ast.parse(t.format(inner), mode="eval").body for t in texts]


def but(node, **fields):
    """The node with other fields."""
    return type(node)(**(vars(node) | fields))


def put(node, field, *texts):
    """The node with an expression around one of its parts."""
    news = codes(getattr(node, field), *texts)
    return [but(node, **{field: new}) for new in news]


def less(items):
    """A list without one of its items, once for each."""
    return [items[:i] + items[i + 1 :] for i in range(len(items))]


def other(items):
    """A list without one of its items, or with two in the other order."""
    swaps = zip(less(items), items, range(1, len(items)), strict=False)
    return less(items) + [[*k[:i], x, *k[i:]] for k, x, i in swaps]


def other_values(node, names):
    """Numbers, sizes and parameters in the place of a name or a size."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in names:
            yield from codes(node, *names, "1", "2", "3")
    elif isinstance(node, ast.expr) and SIZE.fullmatch(ast.unparse(node)):
        yield from codes(node, "1", "2", "3", "4")
        for name in names:
            yield from codes(ast.Name(name), "len({})", "{}.shape[-1]")


def changes(node):
    """What may stand in the place of a node: one small change each."""
    for name in SWAPS.get(type(getattr(node, "op", None)), "").split():
        yield but(node, op=getattr(ast, name)())
    match node:
        case ast.BinOp(left, op, right):
            yield from (left, right)
            if not isinstance(op, ast.Add | ast.Mult):
                yield but(node, left=right, right=left)
            if isinstance(op, ast.MatMult):
                yield from put(node, "left", "{}.T")
                yield from put(node, "right", "{}.T")
        case ast.BoolOp(values=values):
            yield from values
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                for name in SWAPS[type(op)].split():
                    new = getattr(ast, name)()
                    yield but(node, ops=[*ops[:i], new, *ops[i + 1 :]])
        case ast.IfExp(_, body, orelse):
            yield from [body, orelse, *put(node, "test", "not {}")]
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(n) | float(n)):
            yield from map(ast.Constant, (n + 1, n - 1, 0, 2 * n, -n, n / 2))
        case ast.Call(func, args, keywords):
            yield from [*args, *codes(node, "{}[:-1]", "{}[1:]")]
            yield from (but(node, args=new) for new in other(args))
            yield from (but(node, keywords=new) for new in less(keywords))
            if isinstance(func, ast.Attribute) and func.attr == "max":
                yield from codes(func.value, "{}", "{}[..., :1]", "{}.flat[0]")
            elif isinstance(func, ast.Attribute):
                yield func.value
        case ast.Attribute(attr=attr) if attr in NAMES:
            yield but(node, attr=NAMES[attr])
        case ast.Name(name, ast.Load()) if name in NAMES:
            yield ast.Name(NAMES[name])
        case ast.UnaryOp(_, x) | ast.Attribute(x, "T") | ast.Subscript(x):
            yield x
        case ast.Slice():
            ends = "lower", "upper", "step"
            yield from (but(node, **{end: None}) for end in ends)
        case ast.List(elts) | ast.Tuple(elts):
            yield from (but(node, elts=new) for new in other(elts))
        case ast.If() | ast.While():
            yield from put(node, "test", "not {}", "False")
        case ast.Return(ast.expr()):
            wraps = "-{}", "{} + 1", "2 * {}", "{}[0]", "{}[-1:]"
            yield from put(node, "value", *wraps)
        case ast.For() | ast.comprehension():
            yield from put(node, "iter", "{}[1:]", "{}[:-1]", "{}[-1:]")
            if getattr(node, "ifs", None):
                yield but(node, ifs=[])
        case ast.Assign() | ast.AugAssign() | ast.Expr(ast.Call()):
            yield ast.Pass()


def places(node):
    """Each place below a node: whose it is, its field, its number."""
    for field, value in ast.iter_fields(node):
        listed = isinstance(value, list)
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for i, child in enumerate(value if listed else [value]):
            if isinstance(child, ast.AST):
                yield node, field, i if listed else None
                yield from places(child)


def mutants(source):
    """Yield what was changed in some functions, and the changed source."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    names = {n.arg: 0 for n in ast.walk(tree) if isinstance(n, ast.arg)}
    for parent, field, i in list(places(tree)):
        whole = getattr(parent, field)
        old = whole if i is None else whole[i]
        for new in [*other_values(old, names), *changes(old)]:
            now = new if i is None else [*whole[:i], new, *whole[i + 1 :]]
            setattr(parent, field, now)
            text = ast.unparse(ast.fix_missing_locations(tree))
            setattr(parent, field, whole)
            if text not in seen:
                seen.add(text)
                yield f"{ast.unparse(old)} => {ast.unparse(new)}", text
