"""Each link that reports an error opens a form that the repository has."""

import pytest
import yaml
from attention_site import report

from tools import website


@pytest.mark.parametrize(("kind", "text"), report.KINDS.items())
def test_each_report_has_a_form(kind, text):
    path = website.ROOT / ".github" / "ISSUE_TEMPLATE" / f"{kind}.yml"
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] == text
    assert form["body"][0]["id"] == "where", "what site.js fills in"
