"""Options of Spark's JVM in tests, which last seconds: it compiles less, has no threads that collect garbage, and takes
the classes of Spark as they are (verifying their bytecode is a sixth of the time)."""

OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
START_QUICKLY = {"SPARK_SUBMIT_OPTS": " ".join(OPTIONS)}
