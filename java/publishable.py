"""Says whether what a deployment left in a folder is fit for Maven Central: files, licence, scm, developers.

usage: publishable.py REPOSITORY VERSION MODULE...   (a Maven repository in a folder, as `mvn deploy` writes it)
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

NAMESPACE = {"m": "http://maven.apache.org/POM/4.0.0"}
# https://central.sonatype.org/publish/requirements
DEMANDED = ["m:name", "m:description", "m:url", "m:licenses/m:license/m:url", "m:developers/m:developer/m:name"]
DEMANDED += ["m:scm/m:connection", "m:scm/m:developerConnection", "m:scm/m:url"]


def text(pom: ElementTree.Element, parent: ElementTree.Element, path: str) -> str:
    return (pom.findtext(path, "", NAMESPACE) or parent.findtext(path, "", NAMESPACE)).strip()


def pom_problems(repository: pathlib.Path, version: str, name: str) -> list[str]:
    """What a pom without a jar lacks."""
    file = repository / "io" / "github" / "onewrite" / name / version / f"{name}-{version}.pom"
    if not file.is_file():
        return [f"{name}: {file.name} was not deployed"]
    pom = ElementTree.parse(file).getroot()
    return [f"{name}: no {path.replace('m:', '')}" for path in DEMANDED if not text(pom, pom, path)]


def problems(repository: pathlib.Path, version: str, module: str) -> list[str]:
    group = repository / "io" / "github" / "onewrite"
    name = f"onewrite-{module}"
    folder = group / name / version
    found = []
    for suffix in (".pom", ".jar", "-sources.jar", "-javadoc.jar"):
        file = folder / f"{name}-{version}{suffix}"
        if not file.is_file():
            return [f"{name}: {file.name} was not deployed"]
        if suffix.endswith(".jar") and not any(not entry.is_dir() for entry in zipfile.ZipFile(file).infolist()):
            found.append(f"{name}: {file.name} is empty")
    with zipfile.ZipFile(folder / f"{name}-{version}.jar") as jar:
        if "module-info.class" not in jar.namelist():
            found.append(f"{name}: the jar has no module-info")
    pom = ElementTree.parse(folder / f"{name}-{version}.pom").getroot()
    parent_pom = group / "onewrite-parent" / version / f"onewrite-parent-{version}.pom"
    parent = ElementTree.parse(parent_pom).getroot()
    found += [f"{name}: no {path.replace('m:', '')}" for path in DEMANDED if not text(pom, parent, path)]
    if "SNAPSHOT" in (folder / f"{name}-{version}.pom").read_text():
        found.append(f"{name}: depends on a snapshot")
    return found


def main() -> int:
    repository, version, *modules = sys.argv[1:]
    found = [each for module in modules for each in problems(pathlib.Path(repository), version, module)]
    for name in ("onewrite-parent", "onewrite-bom"):
        found += pom_problems(pathlib.Path(repository), version, name)
    print("\n".join(found) or f"fit to be published: {', '.join(f'onewrite-{module}' for module in modules)} {version}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
