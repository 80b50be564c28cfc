"""A ledger's file: YAML whose values are all read as text."""

from pathlib import Path

from helpers._extras import extra

from .errors import located

with extra("ledger"):
    import yaml

FOLDER = Path(__file__).resolve().parents[1] / "ledgers"


class Once:
    """A loader that refuses fields that are given twice."""

    def construct_mapping(self, node, deep=False):
        mapping = super().construct_mapping(node, deep=deep)
        if len(mapping) < len(node.value):
            raise yaml.constructor.ConstructorError(
                None, None, "a field is given twice", node.start_mark
            )
        return mapping


class Texts(Once, getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
    """Reads every value as text, so 0.50 keeps its zero; fast with libyaml."""


def read(slug, folder=FOLDER):
    """Read the record of one source from its YAML file.

    Examples
    --------
    >>> read("tiny-vectors")["lesson"]
    'three-tokens'
    """
    path = Path(folder) / f"{slug}.yml"
    if not path.is_file():
        known = sorted(p.stem for p in Path(folder).glob("*.yml"))
        raise FileNotFoundError(
            f"no ledger {slug!r} in {folder}; there are {known}"
        )
    with located(slug), path.open("rb") as file:
        try:
            record = yaml.load(file, Loader=Texts)
        except yaml.YAMLError as error:
            raise ValueError(error) from None
        if not isinstance(record, dict) or record.get("slug") != slug:
            raise ValueError(f"slug must be the name of the file, {slug!r}")
    return record
