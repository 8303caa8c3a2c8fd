"""`mortice completion` and `mortice man`: what shells complete, and manual pages."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]

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
