"""Settings of the site: `make docs` builds it into docs/_build/html."""

import sys
import warnings
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_site"), str(HERE.parent / "benchmarks")]

project = "Tammes"
author = "The Tammes authors"
project_copyright = "The Tammes authors"
release = metadata.version("tammes")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "project_files",
    "public_names",
    "llms",
]
exclude_patterns = ["_build", "_site", "gallery/**/*.ipynb", "gallery/**/*.py", "**.zip"]
nitpicky = False

# Equations and commands on the pages are indented blocks without a language.
highlight_language = "text"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

default_role = "code"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated", category=DeprecationWarning)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "image_scrapers": ("figures.scrape", "matplotlib"),
    "matplotlib_animations": False,
}

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"Tammes {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Tammes"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
