"""Tables in catalogs, as Hudi's sync tools register them: Hive metastore and AWS Glue."""
