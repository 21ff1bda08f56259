"""Render the recipe of conda-forge as its builder does, and print what it asks for.

    python .ci/recipe.py conda/recipe.yaml

A field that the format does not know, a value of another type and a requirement that conda cannot read are
errors. Nothing is downloaded or built.
"""

import sys

import rattler_build


def main(path: str) -> None:
    """Print the name, the version and the requirements of the rendered recipe."""
    (rendered,) = rattler_build.Stage0Recipe.from_file(path).render(rattler_build.VariantConfig({}))
    recipe = rendered.recipe.to_dict()
    print(f"{recipe['package']['name']} {recipe['package']['version']}, build {recipe['build']['string']}")
    for part, requirements in recipe["requirements"].items():
        print(f"{part}:", *requirements, sep="\n  ")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except rattler_build.RattlerBuildError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
