"""Versions of other libraries: too old is an error, newer than tested a warning."""

import warnings
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version


def require(package: str, *, minimum: str, tested: str) -> None:
    """Check that a library is there in a version that its module here works with.

    Args:
        package: name on PyPI.
        minimum: the oldest version with the interface that is used.
        tested: the newest release, such as "6.2", that the tests have run with.

    Raises:
        ImportError: the library is missing or too old; says which version to install.

    Example:
        >>> require("torch", minimum="2.0", tested="99.0")
    """
    try:
        found = version(package)
    except PackageNotFoundError as error:
        raise ImportError(
            f'{package} is not installed: python -m pip install "{package}>={minimum}"'
        ) from error
    if Version(found) < Version(minimum):
        raise ImportError(
            f"{package} {found} is too old, {minimum} or later is needed: "
            f'python -m pip install --upgrade "{package}>={minimum}"'
        )
    if Version(found).release[:2] > Version(tested).release[:2]:
        warnings.warn(
            f"{package} {found} is newer than {tested}, the newest that tammes was tested with: if something "
            f'fails, python -m pip install "{package}=={tested}.*"',
            stacklevel=3,
        )
