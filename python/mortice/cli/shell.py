"""`mortice completion` and `mortice man`: what shells complete, and manual pages, made of the commands themselves."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

import mortice

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which a shell completes commands and options.

    \b
    bash, zsh:  eval "$(mortice completion bash)"   in ~/.bashrc, ~/.zshrc
    fish:       mortice completion fish | source    in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    if found is not None:
        print(found(context.find_root().command, {}, "mortice", "_MORTICE_COMPLETE").source())


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.pass_context
def man(context: click.Context, directory: Path) -> None:
    """Write manual pages to a directory, such as ~/.local/share/man/man1."""
    directory.mkdir(parents=True, exist_ok=True)
    root = context.find_root().command
    pages = list(_pages(root, click.Context(root, info_name="mortice")))
    for name, text in pages:
        (directory / f"{name}.1").write_text(text, encoding="utf-8")
    print(f"{len(pages)} manual pages in {directory}")


def _pages(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    found = [(context.command_path.replace(" ", "-"), page(command, context))]
    if isinstance(command, click.Group):
        for name, one in command.commands.items():
            found += _pages(one, click.Context(one, info_name=name, parent=context))
    return found


def page(command: click.Command, context: click.Context) -> str:
    """Returns the manual page of a command in man's macros."""
    title = context.command_path.replace(" ", "-")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{title.upper()}" 1 "" "mortice {mortice.__version__}"',
        ".SH NAME",
        f"{title} \\- {_escaped(command.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        f".B {context.command_path}\n{_escaped(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            lines += [".TP", f".B {_escaped(record[0])}", _escaped(record[1])]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name, one in sorted(command.commands.items()):
            lines += [".TP", f".B {_escaped(name)}", _escaped(one.get_short_help_str(200))]
    if command.epilog:
        lines += [".SH EXAMPLES", ".nf", *(_escaped(line) for line in command.epilog.splitlines()[2:]), ".fi"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    lines = []
    for paragraph in text.strip().split("\n\n"):
        verbatim = paragraph.lstrip().startswith("\b")
        body = [_escaped(line) for line in paragraph.replace("\b", "").strip("\n").splitlines()]
        lines += [".PP", *([".nf", *body, ".fi"] if verbatim else [line.strip() for line in body])]
    return lines


def _escaped(text: str) -> str:
    """Returns text in which man sees no macros or escapes.

    >>> _escaped(".hoodie -a")
    '\\\\&.hoodie \\\\-a'
    """
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text
