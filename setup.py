"""Maps the fixed top-level folders to `trilithon.*`; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = ["core", "envs", "agents", "experiments", "notebooks"]

# pyproject.toml alone would need every sub-package listed; a forgotten one would be missing from the wheel in silence.
package_dir = {f"trilithon.{folder}": folder for folder in FOLDERS}
packages = []
for folder in FOLDERS:
    packages += [f"trilithon.{folder}", *(f"trilithon.{folder}.{name}" for name in find_packages(folder))]

setup(packages=packages, package_dir=package_dir)
