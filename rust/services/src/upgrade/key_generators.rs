//! Key generators of Hudi: from version 8 on a table stores the type, before the class (`KeyGeneratorType`).

/// Types and their classes.
const GENERATORS: [(&str, &str); 18] = [
    ("SIMPLE", "org.apache.hudi.keygen.SimpleKeyGenerator"),
    ("SIMPLE_AVRO", "org.apache.hudi.keygen.SimpleAvroKeyGenerator"),
    ("COMPLEX", "org.apache.hudi.keygen.ComplexKeyGenerator"),
    ("COMPLEX_AVRO", "org.apache.hudi.keygen.ComplexAvroKeyGenerator"),
    ("TIMESTAMP", "org.apache.hudi.keygen.TimestampBasedKeyGenerator"),
    ("TIMESTAMP_AVRO", "org.apache.hudi.keygen.TimestampBasedAvroKeyGenerator"),
    ("CUSTOM", "org.apache.hudi.keygen.CustomKeyGenerator"),
    ("CUSTOM_AVRO", "org.apache.hudi.keygen.CustomAvroKeyGenerator"),
    ("NON_PARTITION", "org.apache.hudi.keygen.NonpartitionedKeyGenerator"),
    ("NON_PARTITION_AVRO", "org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator"),
    ("GLOBAL_DELETE", "org.apache.hudi.keygen.GlobalDeleteKeyGenerator"),
    ("GLOBAL_DELETE_AVRO", "org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator"),
    ("AUTO_RECORD", "org.apache.hudi.keygen.AutoRecordGenWrapperKeyGenerator"),
    ("AUTO_RECORD_AVRO", "org.apache.hudi.keygen.AutoRecordGenWrapperAvroKeyGenerator"),
    ("HOODIE_TABLE_METADATA", "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator"),
    ("SPARK_SQL", "org.apache.spark.sql.hudi.command.SqlKeyGenerator"),
    ("SPARK_SQL_UUID", "org.apache.spark.sql.hudi.command.UuidKeyGenerator"),
    ("SPARK_SQL_MERGE_INTO", "org.apache.spark.sql.hudi.command.MergeIntoKeyGenerator"),
];

/// The type of a class; that of classes of others than Hudi is `USER_PROVIDED`.
pub(super) fn type_of_class(class: &str) -> &'static str {
    let found = GENERATORS.iter().find(|(_, known)| *known == class);
    found.map_or("USER_PROVIDED", |(kind, _)| kind)
}

/// The class of a type; none for one that Hudi does not have, and for `USER_PROVIDED`.
pub(super) fn class_of_type(kind: &str) -> Option<&'static str> {
    GENERATORS.iter().find(|(known, _)| *known == kind).map(|(_, class)| *class)
}
