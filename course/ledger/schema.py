"""The form of a ledger: which fields there are, and which values they allow.

`SCHEMA` is a JSON schema (draft 7), which a library checks. Each `description`
states in words what its part requires; messages quote it.
"""

from helpers._extras import extra

from .entries import FIGURES, READINGS, STATEMENTS
from .errors import LedgerError
from .numerals import NUMERAL

with extra("ledger"):
    import fastjsonschema


def _one_of(values, what=""):
    """A schema for a text that must be one of some values."""
    told = f"must be one of {', '.join(values)}{what}"
    return {"enum": list(values), "description": told}


def _dict_of(part):
    """A schema for a dict whose values all have one form."""
    return {
        "type": "object",
        "additionalProperties": part,
        "description": "must be a dict",
    }


TEXT = {
    "type": "string",
    "pattern": r"\S",
    "description": "must be text, and not empty",
}
# A figure, or a list of figures or of such lists.
PRINTED = {
    "if": {"type": "array"},
    "then": {
        "minItems": 1,
        "items": {"$ref": "#/definitions/printed"},
        "description": "must hold a figure in each list",
    },
    "else": {
        "type": "string",
        "pattern": rf"^({NUMERAL}|-?inf)$",
        "description": "must be a numeral such as -0.50 or 1e-3, as text",
    },
}
FORMS = {
    "printed": {"$ref": "#/definitions/printed"},
    "corrected": {"$ref": "#/definitions/printed"},
    "places": {
        "type": "string",
        "pattern": "^[0-9]{1,2}$",
        "description": "must be 0 to 99",
    },
    "times": {
        "type": "string",
        "pattern": f"^{NUMERAL}$",
        "description": "must be a numeral such as -0.50 or 1e-3",
    },
    "about": {"enum": ["yes"], "description": "must be yes, or absent"},
    "basis": {"enum": ["cited"], "description": "must be cited, or absent"},
    "read": _one_of(READINGS),
}
ENTRY = {"id", "section", "kind", "verdict"}
DIGITS = {"places", "times", "about"}
WORK = {"cite", "read", "copy"}
FIGURE_VERDICTS = ("reproduced", "erratum")
STATEMENT_VERDICTS = ("true", "loose", "false")
# The fields that an entry must have and may have, by verdict.
FIELDS = {
    "reproduced": (
        ENTRY | {"what", "printed"},
        DIGITS | WORK | {"accident", "because"},
    ),
    "erratum": (
        ENTRY | {"what", "printed", "corrected", "cause", "because"},
        DIGITS | WORK | {"accident", "from"},
    ),
    "true": (ENTRY | {"says"}, WORK | {"because", "basis"}),
    "loose": (ENTRY | {"says", "because"}, WORK | {"basis"}),
    "false": (ENTRY | {"says", "because"}, WORK | {"basis"}),
}


# The fields that another field requires, and the reason for messages.
NEEDS = {
    "basis": ["because", "cite"],
    "copy": ["read"],
    "read": ["cite", "copy"],
}
WHY = {
    "basis": "if basis is cited",
    "copy": "if copy says which",
    "read": "if read says how",
}


def _when(field, value, then):
    """A schema for the entries with a certain value in a field."""
    return {"if": {"properties": {field: {"enum": [value]}}}, "then": then}


def _verdicts_of(kind):
    """A schema for the verdicts of the entries of one kind."""
    words = FIGURE_VERDICTS if kind in FIGURES else STATEMENT_VERDICTS
    verdict = _one_of(words, f" for a {kind}")
    return _when("kind", kind, {"properties": {"verdict": verdict}})


def _fields(required, optional):
    """A schema for a dict with no missing and no unknown field."""
    forms = {name: FORMS.get(name, TEXT) for name in required | optional}
    return {
        "required": sorted(required),
        "properties": forms,
        "additionalProperties": False,
    }


AN_ENTRY = {
    "type": "object",
    "description": "must be a dict",
    "allOf": [
        {
            "required": sorted(ENTRY),
            "properties": {"id": TEXT, "kind": _one_of(FIGURES + STATEMENTS)},
        },
        *(_verdicts_of(kind) for kind in FIGURES + STATEMENTS),
        *(_when("verdict", word, _fields(*FIELDS[word])) for word in FIELDS),
        {"dependencies": NEEDS},
    ],
}
SOURCE = _fields(
    required={"slug", "title", "work", "lesson", "entries"},
    optional={"causes", "rivals"},
)
SOURCE["properties"] |= {
    "causes": _dict_of(TEXT),
    "rivals": _dict_of(TEXT),
    "entries": {
        "type": "array",
        "minItems": 1,
        "items": AN_ENTRY,
        "description": "must be a list of at least one",
    },
}
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {"printed": PRINTED},
    "type": "object",
    "description": "must be a dict",
    **SOURCE,
}
_validated = fastjsonschema.compile(SCHEMA)


def check_form(record):
    """Refuse a record that does not have the form of a ledger."""
    try:
        _validated(record)
    except fastjsonschema.JsonSchemaValueException as error:
        place, field = _place(record, error.path[1:])
        said = _said(error, field)
        raise LedgerError(": ".join([*place, said])) from None


def _place(record, path):
    """The source, the entry and the field at a path."""
    slug = record.get("slug") if isinstance(record, dict) else None
    place = [str(slug or "ledger")]
    if path[:1] == ["entries"] and len(path) > 1:
        _, index, *path = path
        entry = record["entries"][int(index)]
        named = isinstance(entry, dict) and "id" in entry
        place.append(str(entry["id"]) if named else f"entries at [{index}]")
    field = " ".join(path[:1])
    inside = ", ".join(path[1:])
    return place, f"{field} at [{inside}]" if inside else field


def _said(error, field):
    """The rule that a value breaks, in words."""
    value, rule = error.value, error.rule_definition
    if error.rule == "required":
        return f"{min(set(rule) - set(value))} must be there"
    if error.rule == "dependencies":
        field = next(f for f in rule if f in value and rule[f] - value.keys())
        missing = min(rule[field] - value.keys())
        return f"{missing} must be there {WHY[field]}"
    if error.rule == "additionalProperties":
        known = sorted(error.definition["properties"])
        unknown = next(name for name in value if name not in known)
        return f"{unknown} must be one of {', '.join(known)}"
    told = error.definition["description"]
    return f"{field} {told}; got {value!r}".lstrip()
