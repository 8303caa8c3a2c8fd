//! Requests of the table of locks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::lock::pause;
use super::item::{KEY, LEASE, LockItem, OWNER, RELEASED, VERSION};
use super::settings::DynamoDbSettings;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::Time;
use mortice_storage::{JsonAnswer, JsonService};

/// Between two questions whether a new table can be used.
const PAUSE: Duration = Duration::from_secs(1);

/// The condition of a lock that an owner has, with a version.
const OWNED: &str = "attribute_exists(#key) AND #version = :version AND #owner = :owner";

/// What a change of the lock depends on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition<'a> {
    /// There is no lock.
    Absent,
    /// It has this version, and was given back.
    Released(&'a str),
    /// It has this version.
    Version(&'a str),
}

/// The table of locks.
#[derive(Clone)]
pub(super) struct LockTable {
    pub(super) service: Arc<dyn JsonService>,
    pub(super) settings: Arc<DynamoDbSettings>,
}

impl LockTable {
    /// Where the lock is, for messages.
    pub(super) fn location(&self) -> String {
        format!("DynamoDB table {}, key {}", self.settings.table, self.settings.key)
    }

    fn call(&self, operation: &str, body: &Value) -> Result<JsonAnswer> {
        self.service.call(operation, Bytes::from(body.to_string()))
    }

    /// The lock as it is now; none if there is none.
    ///
    /// # Errors
    /// `NotFound` if there is no such table, or it was not yet created.
    pub(super) fn get(&self) -> Result<Option<LockItem>> {
        let DynamoDbSettings { table, key, .. } = &*self.settings;
        let body = json!({"TableName": table, "Key": {KEY: {"S": key}}, "ConsistentRead": true});
        let found = match self.call("GetItem", &body)? {
            JsonAnswer::Done(found) => parsed(&found)?,
            refused @ JsonAnswer::Refused { .. } => return Err(self.refusal(refused)),
        };
        found.get("Item").map(LockItem::parse).transpose().map_err(|error| error.in_file(self.location()))
    }

    /// Writes the lock; false if the condition does not hold.
    pub(super) fn put(&self, item: &LockItem, condition: Condition<'_>) -> Result<bool> {
        let DynamoDbSettings { table, key, .. } = &*self.settings;
        let attributes = item.attributes(key);
        let body = match condition {
            Condition::Absent => json!({
                "TableName": table,
                "Item": attributes,
                "ConditionExpression": "attribute_not_exists(#key)",
                "ExpressionAttributeNames": {"#key": KEY},
            }),
            Condition::Version(version) => json!({
                "TableName": table,
                "Item": attributes,
                "ConditionExpression": "attribute_exists(#key) AND #version = :version",
                "ExpressionAttributeNames": {"#key": KEY, "#version": VERSION},
                "ExpressionAttributeValues": {":version": {"S": version}},
            }),
            Condition::Released(version) => json!({
                "TableName": table,
                "Item": attributes,
                "ConditionExpression":
                    "attribute_exists(#key) AND #version = :version AND attribute_exists(#released)",
                "ExpressionAttributeNames": {"#key": KEY, "#version": VERSION, "#released": RELEASED},
                "ExpressionAttributeValues": {":version": {"S": version}},
            }),
        };
        self.change("PutItem", &body)
    }

    /// Replaces the version of a lock that an owner has; false if it does not have it with the version before.
    pub(super) fn renew(&self, before: &LockItem, version: &str) -> Result<bool> {
        let DynamoDbSettings { table, key, .. } = &*self.settings;
        let body = json!({
            "TableName": table,
            "Key": {KEY: {"S": key}},
            "UpdateExpression": "SET #lease = :lease, #version = :next",
            "ConditionExpression": OWNED,
            "ExpressionAttributeNames": {"#key": KEY, "#version": VERSION, "#owner": OWNER, "#lease": LEASE},
            "ExpressionAttributeValues": {
                ":version": {"S": before.version},
                ":owner": {"S": before.owner},
                ":lease": {"S": before.lease.as_millis().to_string()},
                ":next": {"S": version},
            },
        });
        self.change("UpdateItem", &body)
    }

    /// Deletes a lock that an owner has; false if it does not have it with this version.
    pub(super) fn delete(&self, item: &LockItem) -> Result<bool> {
        let DynamoDbSettings { table, key, .. } = &*self.settings;
        let body = json!({
            "TableName": table,
            "Key": {KEY: {"S": key}},
            "ConditionExpression": OWNED,
            "ExpressionAttributeNames": {"#key": KEY, "#version": VERSION, "#owner": OWNER},
            "ExpressionAttributeValues": {":version": {"S": item.version}, ":owner": {"S": item.owner}},
        });
        self.change("DeleteItem", &body)
    }

    fn change(&self, operation: &str, body: &Value) -> Result<bool> {
        match self.call(operation, body)? {
            JsonAnswer::Done(_) => Ok(true),
            JsonAnswer::Refused { code, .. } if code == "ConditionalCheckFailedException" => Ok(false),
            refused @ JsonAnswer::Refused { .. } => Err(self.refusal(refused)),
        }
    }

    /// Creates the table, as Hudi does, and waits until it can be used. Another writer may be creating it.
    ///
    /// # Errors
    /// `Unreachable` if that takes longer than the option allows; those of the service.
    pub(super) fn create(&self, time: &dyn Time) -> Result<()> {
        let DynamoDbSettings { table, capacity, creation_timeout, .. } = &*self.settings;
        let mut members = json!({
            "TableName": table,
            "KeySchema": [{"AttributeName": KEY, "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": KEY, "AttributeType": "S"}],
            "BillingMode": if capacity.is_some() { "PROVISIONED" } else { "PAY_PER_REQUEST" },
        });
        if let (Some((reads, writes)), Some(members)) = (capacity, members.as_object_mut()) {
            let throughput = json!({"ReadCapacityUnits": reads, "WriteCapacityUnits": writes});
            members.insert("ProvisionedThroughput".to_owned(), throughput);
        }
        match self.call("CreateTable", &members)? {
            JsonAnswer::Done(_) => {}
            JsonAnswer::Refused { code, .. } if code == "ResourceInUseException" => {}
            refused @ JsonAnswer::Refused { .. } => return Err(self.refusal(refused)),
        }
        let began = time.monotonic();
        while !self.is_active()? {
            if time.since(began) >= *creation_timeout {
                let message =
                    format!("the table of locks cannot be used {} s after it was created", creation_timeout.as_secs());
                return Err(Error::new(ErrorKind::Unreachable, message).in_file(self.location()));
            }
            pause(time, PAUSE)?;
        }
        Ok(())
    }

    fn is_active(&self) -> Result<bool> {
        match self.call("DescribeTable", &json!({"TableName": self.settings.table}))? {
            JsonAnswer::Done(found) => {
                let found = parsed(&found)?;
                let status = found.pointer("/Table/TableStatus").and_then(Value::as_str);
                Ok(matches!(status, Some("ACTIVE" | "UPDATING")))
            }
            JsonAnswer::Refused { code, .. } if code == "ResourceNotFoundException" => Ok(false),
            refused @ JsonAnswer::Refused { .. } => Err(self.refusal(refused)),
        }
    }

    fn refusal(&self, answer: JsonAnswer) -> Error {
        let JsonAnswer::Refused { code, message } = answer else {
            return Error::internal("an operation that is done is no refusal");
        };
        let kind = if code == "ResourceNotFoundException" { ErrorKind::NotFound } else { ErrorKind::Io };
        Error::new(kind, format!("DynamoDB refused a request for the lock: {code}: {message}")).in_file(self.location())
    }
}

fn parsed(body: &Bytes) -> Result<Value> {
    serde_json::from_slice(body)
        .map_err(|error| Error::new(ErrorKind::Io, "an answer of DynamoDB cannot be read").caused_by(error))
}
