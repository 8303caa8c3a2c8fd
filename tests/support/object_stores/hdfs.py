"""HDFS for the tests: a NameNode and a DataNode of Hadoop's minicluster, on loopback.

Maven downloads its jars into `.servers/`, by `python tests/support/object_stores/hdfs.py` or `make test-object-stores`.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

VERSION = "3.4.1"
FOLDER = Path(__file__).resolve().parents[3] / ".servers" / f"hdfs-{VERSION}"
LAUNCHER = Path(__file__).with_name("java") / "MiniHdfs.java"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
STARTED_WITHIN = 120.0
USER = "mortice-tests"
"""The owner of the cluster's files: the user who starts it is its superuser."""

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mortice</groupId>
  <artifactId>servers</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.hadoop</groupId>
      <artifactId>hadoop-client-minicluster</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def why_missing():
    """Returns why no cluster can be started; None if one can."""
    if shutil.which("java") is None:
        return "HDFS needs Java (17), which was not found"
    if not any(FOLDER.glob("hadoop-client-minicluster-*.jar")):
        return "Hadoop's minicluster was not fetched: python tests/support/object_stores/hdfs.py"
    return None


def fetch():
    """Downloads the jars unless they exist; needs Maven."""
    if any(FOLDER.glob("hadoop-client-minicluster-*.jar")):
        return FOLDER
    maven = shutil.which("mvn")
    if maven is None:
        sys.exit("Hadoop's minicluster is fetched with Maven (mvn), which was not found")
    FOLDER.mkdir(parents=True, exist_ok=True)
    pom = FOLDER / "pom.xml"
    pom.write_text(_POM)
    command = [maven, "-q", "-B", "-f", str(pom), f"{PLUGIN}:copy-dependencies", f"-DoutputDirectory={FOLDER}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"Maven could not fetch Hadoop's minicluster:\n{done.stdout[-2000:]}")
    return FOLDER


@dataclass
class Cluster:
    """A running cluster."""

    uri: str
    process: subprocess.Popen
    log: Path

    def run(self, *command):
        """Runs a command in the cluster: see MiniHdfs.java."""
        self.process.stdin.write("\t".join(command).encode() + b"\n")
        self.process.stdin.flush()
        self.expect("done")

    def copy(self, folder, target):
        """Copies a local directory to the cluster."""
        self.run("copy", target, str(folder))

    def expect(self, word):
        if self.process.stdout.readline().decode().strip() != word:
            raise RuntimeError(f"the cluster failed: {self.log.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def hdfs(folder, port):
    """Runs a cluster until the end of the block."""
    command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{FOLDER}/*", str(LAUNCHER), str(port)]
    log = folder / "hdfs.log"
    environment = {**os.environ, "HADOOP_USER_NAME": USER}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, str(folder / "data")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=out, env=environment
        )
        # A cluster that does not start is killed, so that waiting for its first line ends.
        impatience = threading.Timer(STARTED_WITHIN, process.kill)
        impatience.start()
        try:
            cluster = Cluster(f"hdfs://127.0.0.1:{port}", process, log)
            cluster.expect("ready")
            impatience.cancel()
            yield cluster
        finally:
            impatience.cancel()
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


if __name__ == "__main__":
    print(fetch())
