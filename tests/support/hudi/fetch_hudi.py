"""Downloads Hudi's reader by its Maven coordinates, for the tests that read files of mortice with it.

    python tests/support/hudi/fetch_hudi.py [RELEASE]

copies the jar, and that of the HFiles of Hudi's tests, into `.hudi/` with Maven, which caches its downloads, and prints
its path. Fails with a reason if there is no Maven or no repository. Only the standard library is needed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "1.2.0"
ARTIFACT = "hudi-spark3.5-bundle_2.12"
FOLDER = Path(__file__).resolve().parents[3] / ".hudi"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


def jar(version=VERSION):
    """Returns the path of the jar: MORTICE_HUDI_JAR, or the downloaded one; None if there is none."""
    given = os.environ.get("MORTICE_HUDI_JAR") if version == VERSION else None
    path = Path(given) if given else FOLDER / f"{ARTIFACT}-{version}.jar"
    return path if path.is_file() else None


def fetch(version=VERSION):
    """Returns the jar of a release, downloaded if necessary."""
    return jar(version) or fetch_artifact("org.apache.hudi", ARTIFACT, version)


def fetch_artifact(group, name, version, classifier=""):
    """Returns any jar without its dependencies, downloaded if necessary."""
    path = FOLDER / f"{'-'.join(filter(None, [name, version, classifier]))}.jar"
    if path.is_file():
        return path
    maven = shutil.which("mvn")
    if maven is None:
        sys.exit(f"{path.name} is fetched with Maven (mvn), which was not found")
    artifact = f"{group}:{name}:{version}" + (f":jar:{classifier}" if classifier else "")
    command = [maven, "-q", "-B", f"{PLUGIN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={FOLDER}"]
    done = subprocess.run(
        command, cwd=FOLDER.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode or not path.is_file():
        sys.exit(f"Maven could not fetch {artifact}:\n{done.stdout[-2000:]}")
    return path


def fetch_files_of_tests():
    """Returns the jar of HFiles that Hudi's own tests read (`tests/rust/hfile`)."""
    return fetch_artifact("org.apache.hudi", "hudi-io", VERSION, "tests")


if __name__ == "__main__":
    print(fetch(*sys.argv[1:2]))
    print(fetch_files_of_tests())
