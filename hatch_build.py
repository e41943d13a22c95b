"""Build hook: the README of a release leads to the repository where that of a checkout leads to files beside it."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute(readme: str, source: str) -> str:
    """Replace relative links and pictures of a README by addresses in the repository.

    >>> absolute('[a](docs/a.md#b), [c](https://c.org), <img src="d.png">', "https://host")
    '[a](https://host/blob/main/docs/a.md#b), [c](https://c.org), <img src="https://host/raw/main/d.png">'
    """
    linked = re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", rf"]({source}/blob/main/\1)", readme)
    return re.sub(r'src="(?!https?:)([^"]+)"', rf'src="{source}/raw/main/\1"', linked)


class ReadmeHook(MetadataHookInterface):
    """Sets the README of the package's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the text of the README, with links that work away from the checkout."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, metadata["urls"]["Source"])}
