"""What a build adds to pyproject.toml: the README, and the address of the repository where one is known.

On PyPI a link from the README to a file of the repository leads nowhere, and a picture is not there. So a
build with TAMMES_REPOSITORY in the environment, such as https://github.com/OWNER/NAME, makes them absolute,
at the tag of the version, and names the project's addresses. The workflow of a release sets it.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>(?!\w+:|#)[^)]+)\)")


class Addresses(MetadataHookInterface):
    """The README, and the addresses of the project."""

    def update(self, metadata: dict) -> None:
        """Add the fields that pyproject.toml calls dynamic."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("TAMMES_REPOSITORY", "").rstrip("/")
        if repository:
            text = with_absolute_links(text, repository, f"v{metadata['version']}")
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{repository}/tree/v{metadata['version']}/docs",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose links and pictures of the repository lead there from anywhere."""

    def absolute(found: re.Match) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({repository}/{kind}/{tag}/{found['target']})"

    return LINK.sub(absolute, text)
