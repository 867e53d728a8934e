"""``tbgen completion``: a script that lets a shell complete commands, options and names."""

from typing import Annotated

import click
from click.shell_completion import get_completion_class

from tbgen.cli.options import command


@command
def run(shell: Annotated[str, click.Choice(["bash", "zsh", "fish"])]) -> None:
    """Print a script that lets a shell complete the commands of tbgen, their options, materials and files.

    \b
    For example:
      tbgen completion bash > ~/.local/share/bash-completion/completions/tbgen
      tbgen completion zsh > ~/.zfunc/_tbgen  # with fpath+=~/.zfunc in ~/.zshrc
      tbgen completion fish > ~/.config/fish/completions/tbgen.fish

    :param shell: the shell that will read the script
    """
    from tbgen.cli.main import COMPLETION_VARIABLE, tbgen

    script = get_completion_class(shell)
    assert script is not None
    print(script(tbgen, {}, "tbgen", COMPLETION_VARIABLE).source())
