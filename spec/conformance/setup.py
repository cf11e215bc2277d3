"""Puts the contract into the packages: its files lie beside this folder in a checkout, and inside it in an sdist."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
INSIDE = HERE / "spec"
SPEC = INSIDE if INSIDE.is_dir() else HERE.parent
CONTRACT = ("0?-*.md", "*.yaml", "cases/*.yaml", "schemas/*.json", "testdata/*.json", "testdata/footprint/*.yaml")


def copy_contract(target: Path) -> None:
    for pattern in CONTRACT:
        for file in SPEC.glob(pattern):
            copy = target / file.relative_to(SPEC)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


class BuildWithContract(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copy_contract(Path(self.build_lib) / "onewrite_conformance" / "spec")


class SdistWithContract(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        copy_contract(Path(base_dir) / "spec")


setup(cmdclass={"build_py": BuildWithContract, "sdist": SdistWithContract})
