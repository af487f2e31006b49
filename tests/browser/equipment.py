"""Equipment of the browser tests beside Python: Chromium, the libraries of the page, and axe.

`make browser` gets it all. The libraries stand in for the public servers that Evennia's page loads
them from; the page checks most of them by a digest, so they are the original files.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / ".venvs" / "browser" / "node_modules"
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ADVICE = "`make browser` gets what is missing"

# The served files, by the ends of the paths that they are served for.
SERVED = {
    "/jquery-3.2.1.min.js": "jquery/dist/jquery.min.js",
    "/bootstrap/4.0.0-beta/css/bootstrap.min.css": "bootstrap/dist/css/bootstrap.min.css",
    "/bootstrap/4.0.0-beta/js/bootstrap.min.js": "bootstrap/dist/js/bootstrap.min.js",
    "/popper.js/1.11.0/umd/popper.min.js": "popper.js/dist/umd/popper.min.js",
    "/js/goldenlayout.min.js": "golden-layout/dist/goldenlayout.min.js",
    "/css/goldenlayout-base.css": "golden-layout/src/css/goldenlayout-base.css",
    "/css/goldenlayout-dark-theme.css": "golden-layout/src/css/goldenlayout-dark-theme.css",
    "/favico-0.3.10.min.js": "favico.js/favico-0.3.10.min.js",
}
# Finds violations of accessibility in a page.
AXE = "axe-core/axe.min.js"
CONTENT_TYPES = {".js": "text/javascript", ".css": "text/css"}


@dataclass(frozen=True)
class Equipment:
    """The equipment on this machine.

    Attributes:
        browser: path of the browser's program, or "" when there is none.
        libraries: the folder of the libraries; it may be absent.
    """

    browser: str
    libraries: Path

    @property
    def lacks(self) -> str:
        """One sentence about all that is missing, or ""."""
        missing = [] if self.browser else [f"no {' or '.join(BROWSERS)} on PATH"]
        wanted = [*SERVED.values(), AXE]
        absent = [name for name in wanted if not (self.libraries / name).is_file()]
        if absent:
            missing.append(f"{len(absent)} of {len(wanted)} libraries are not in {self.libraries}")
        return f"no browser test is possible: {' and '.join(missing)}; {ADVICE}" if missing else ""

    def find_library(self, url: str) -> Path | None:
        """The file that is served for an address elsewhere, or None."""
        path = urlsplit(url).path
        return next(
            (self.libraries / file for end, file in SERVED.items() if path.endswith(end)), None
        )


def find_equipment() -> Equipment:
    """Look for a browser on PATH, or the one that EVENNIA_AI_BROWSER names, and the libraries."""
    named = os.environ.get("EVENNIA_AI_BROWSER", "")
    path = shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), "")
    return Equipment(path or "", LIBRARIES)
