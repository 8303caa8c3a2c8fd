"""Kafka for the tests: a broker on loopback that is its own controller (KRaft), and Spark's source of its topics.

Maven downloads the jars into `.servers/`, by `python tests/support/kafka.py` or `make test-kafka`.
"""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.object_stores.servers import free_port, running

VERSION = "3.9.1"
SPARK_SOURCE = "3.5.1"
"""Of the source; it runs on all releases of Spark 3.5."""
FOLDER = Path(__file__).resolve().parents[2] / ".servers" / f"kafka-{VERSION}"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
SOURCE_JARS = [
    f"org.apache.spark:spark-sql-kafka-0-10_2.12:{SPARK_SOURCE}",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.12:{SPARK_SOURCE}",
    "org.apache.commons:commons-pool2:2.12.0",
]
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mortice</groupId>
  <artifactId>servers</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def why_missing():
    """Returns why no broker can be started; None if one can."""
    if shutil.which("java") is None:
        return "Kafka needs Java, which was not found"
    if not source_jars():
        return "Kafka was not fetched: make test-kafka"
    return None


def source_jars():
    """Returns the jars of Spark's source, without those of the broker; none before they are fetched."""
    found = [*(FOLDER / "source").glob("*.jar"), *FOLDER.glob("kafka-clients-*.jar")]
    return [str(path) for path in found] if len(found) == len(SOURCE_JARS) + 1 else []


def fetch():
    """Downloads the jars unless they exist; needs Maven."""
    if source_jars():
        return
    maven = shutil.which("mvn")
    if maven is None:
        sys.exit("Kafka is fetched with Maven (mvn), which was not found")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "pom.xml").write_text(POM)
    command = [maven, "-q", "-B", "-f", str(FOLDER / "pom.xml")]
    goals = [[f"{PLUGIN}:copy-dependencies", f"-DoutputDirectory={FOLDER}"]]
    goals += [[f"{PLUGIN}:copy", f"-Dartifact={jar}", f"-DoutputDirectory={FOLDER / 'source'}"] for jar in SOURCE_JARS]
    for goal in goals:
        done = subprocess.run(
            [*command, *goal], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"Maven could not fetch Kafka:\n{done.stdout[-2000:]}")


@contextlib.contextmanager
def broker(folder):
    """Runs a broker until the end of the block, which gets its address.

    Args:
        folder: An empty folder for its topics.
    """
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={folder / 'topics'}\n"
        "offsets.topic.replication.factor=1\n"
        "transaction.state.log.replication.factor=1\n"
        "transaction.state.log.min.isr=1\n"
    )
    java = ["java", "-Xmx256m", "-cp", f"{FOLDER}/*"]
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)]
    subprocess.run(formatting, check=True, capture_output=True)
    with running([*java, "kafka.Kafka", str(settings)], port, folder / "log"):
        yield f"127.0.0.1:{port}"


if __name__ == "__main__":
    fetch()
