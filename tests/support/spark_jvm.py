"""Options of Spark's JVM in tests, which last seconds: it compiles less, and has no threads that collect garbage."""

START_QUICKLY = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
