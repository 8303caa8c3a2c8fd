"""Text of strangers on a terminal: no character of a table's names and values, or of what a storage says, controls it.

The characters are all of each kind; a table has them in its partition path, its keys and its values, and every command
and every message is searched for them.
"""

import contextlib
import io
import json
import re
import warnings

import pyarrow as pa
import pytest

import mortice
from mortice import errors
from mortice.cli.main import main
from mortice.display.markup import tag
from mortice.values.damage import DamagedFileWarning
from mortice.values.visible_text import visible_json, visible_text

KINDS = {
    "control characters": [chr(code) for code in (*range(0x20), 0x7F)],
    "control characters of 8 bits": [chr(code) for code in range(0x80, 0xA0)],
    "changes of direction": list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    "separators of lines": ["\u2028", "\u2029"],
    "characters without width": list(
        "\u00ad\u180e\u200b\u200c\u200d\u2060\u2061\u2064\ufeff\ufff9\U000e0001\U000e0041"
    ),
}
HIDDEN = "".join(one for some in KINDS.values() for one in some)
# What a table can store, and a partition path can have on a local disk.
VALUE = "x\x1b]0;title\x07\x1b[31m\x9b31m\u202e\u2066\u200b\u2028y\x7f\r\x85"
SHOWN = re.compile("[" + re.escape(HIDDEN.replace("\n", "").replace("\t", "")) + "]")
VISIBLE = "é 大阪　\u00a0 عربى 'x' \"y\" \\ 😀 ﷺ"
QUIET = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_character_is_escaped_and_can_be_recognized(kind):
    for one in KINDS[kind]:
        shown = visible_text(f"a{one}b")
        assert shown.isascii()
        assert shown.encode().decode("unicode_escape") == f"a{one}b"
        document = json.dumps({f"k{one}": [one]}, ensure_ascii=False)
        assert not SHOWN.search(visible_json(document))
        assert json.loads(visible_json(document)) == {f"k{one}": [one]}
        assert one == "\n" or one not in tag("td", f"a{one}b")
    assert visible_text("a\nb\t\x1b", keep="\n") == "a\nb\\t\\x1b"


def test_what_is_visible_stays():
    assert visible_text(VISIBLE) == VISIBLE
    assert visible_json(json.dumps(VISIBLE, ensure_ascii=False)) == json.dumps(VISIBLE, ensure_ascii=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(errors.__all__))
def test_errors_and_warnings_name_what_they_are_about_and_keep_it(name, kind):
    text = "".join(KINDS[kind])
    error = getattr(errors, name)(f"about {text}", path=text, instant=text)
    assert not SHOWN.search(str(error))
    assert "\n" not in str(error).split("(", 1)[1]
    assert (error.path, error.instant, error.args[0]) == (text, text, f"about {text}")
    assert not SHOWN.search(error.message)
    warning = DamagedFileWarning(text, text, 7, text)
    assert not SHOWN.search(str(warning))
    assert warning.path == text


@pytest.fixture
def table(tmp_path):
    made = mortice.create_table(
        str(tmp_path / "t"), "id string, p string, s string", name="t", record_key="id", partition_by="p"
    )
    for keys in ([f"a{VALUE}", f"b{VALUE}"], [f"a{VALUE}"], [f"a{VALUE}"]):
        made.upsert(pa.table({"id": keys, "p": [VALUE] * len(keys), "s": [VALUE] * len(keys)}), QUIET)
    return made


def run(*arguments):
    """Returns what a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main(list(arguments))
    return out.getvalue(), err.getvalue()


COMMANDS = [
    ["info"],
    ["schema"],
    ["read"],
    ["read", "--meta"],
    ["read", "--json"],
    ["read", "--columns", f"no{VALUE}"],
    ["read", "--filter", f"s = '{VALUE}' and"],
    ["count"],
    ["slices"],
    ["slices", "--json"],
    ["explain"],
    ["explain", "--filter", f"p = '{VALUE}'"],
    ["timeline", "--json"],
    ["history", "KEY"],
    ["history", "KEY", "--json"],
    ["history", f"none{VALUE}"],
    ["diff", "--since", "20200101"],
    ["health"],
    ["health", "--json"],
    ["verify", "--keys"],
    ["verify", "--json"],
    ["compact", "--dry-run"],
    ["cluster", "--dry-run", "--json"],
    ["clean", "--dry-run"],
    ["repair", "--dry-run"],
    ["compact", "--option", f"hoodie.{VALUE}=1"],
    ["clean", "--option", f"hoodie.clean.commits.retained={VALUE}"],
    ["no" + VALUE],
]


def check_commands(table, commands):
    for command, *rest in commands:
        given = [f"a{VALUE}" if one == "KEY" else one for one in rest]
        for text in run(command, table.uri, *given):
            assert not SHOWN.search(text), (command, given, ascii(text))


def test_commands_print_none_of_them(table):
    check_commands(table, COMMANDS)
    out, _ = run("read", table.uri, "--json")
    assert {json.loads(line)["p"] for line in out.splitlines()} == {VALUE}
    # Data for a program stays as it is.
    out, _ = run("read", table.uri, "--csv")
    assert VALUE in out


def test_messages_of_damaged_and_missing_files_have_none_of_them(table, tmp_path):
    log = min(one for one in tmp_path.rglob(".*.log.*") if not one.name.endswith(".crc"))
    base = next(tmp_path.rglob("*.parquet"))
    whole = log.read_bytes()
    for damage in (
        lambda: log.write_bytes(whole[:-40]),
        lambda: (log.write_bytes(whole), base.write_bytes(base.read_bytes()[:100])),
        base.unlink,
    ):
        damage()
        check_commands(table, [["read"], ["count"], ["verify"], ["verify", "--json"], ["compact"], ["health"]])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with contextlib.suppress(mortice.MorticeError):
                mortice.Table(table.uri).snapshot().to_arrow()
        assert not any(SHOWN.search(str(one.message)) for one in warned)


def test_texts_for_notebooks_have_none_of_them(table):
    scan = table.snapshot(filters=[("p", "=", VALUE)])
    shown = [repr(table), repr(scan), scan.explain(), repr(table.health()), repr(table.timeline), repr(scan.splits())]
    shown += [repr(table.file_slices()), scan._repr_html_(), table.health()._repr_html_(), repr(table.clean(QUIET))]
    assert not any(SHOWN.search(text) for text in shown)
