//! The lock in a service that a test controls: what is free, two writers at once, answers that are lost, and time that
//! goes on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{DynamoDbLock, DynamoDbSettings};
use crate::commit::{HeldLock, LockWait, TableLock, acquire};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::time::SimulatedTime;
use mortice_merge::config::WriteOptions;
use mortice_storage::{JsonAnswer, JsonService};

const LEASE: Duration = Duration::from_secs(60);

/// What happens at a change of the lock.
enum Event {
    /// Nothing takes place.
    Fails,
    /// It takes place, and its answer is lost.
    AnswerIsLost,
    /// Something else, before.
    Before(Box<dyn FnOnce() + Send>),
}

/// A table of DynamoDB with one item. Conditions are those that the lock has, by their names.
#[derive(Default)]
struct LockService {
    item: Mutex<Option<Value>>,
    /// How often the state of the table is asked for until it can be used; none if there is no table.
    creation: Mutex<Option<usize>>,
    created: Mutex<Option<Value>>,
    events: Mutex<VecDeque<Event>>,
}

impl LockService {
    fn with_table() -> Arc<Self> {
        Arc::new(Self { creation: Mutex::new(Some(0)), ..Self::default() })
    }

    fn with_item(item: Value) -> Arc<Self> {
        let service = Self::with_table();
        *service.item.lock().unwrap() = Some(item);
        service
    }

    fn add(&self, event: Event) {
        self.events.lock().unwrap().push_back(event);
    }

    fn item(&self) -> Option<Value> {
        self.item.lock().unwrap().clone()
    }

    fn text(&self, name: &str) -> String {
        self.item().unwrap()[name]["S"].as_str().unwrap().to_owned()
    }

    fn holds(&self, body: &Value) -> bool {
        let item = self.item();
        let value = |name: &str| body["ExpressionAttributeValues"][name]["S"].clone();
        let condition = body["ConditionExpression"].as_str().unwrap();
        condition.split(" AND ").all(|term| match term {
            "attribute_not_exists(#key)" => item.is_none(),
            "attribute_exists(#key)" => item.is_some(),
            "attribute_exists(#released)" => item.as_ref().is_some_and(|item| item.get("isReleased").is_some()),
            "#version = :version" => {
                item.as_ref().is_some_and(|item| item["recordVersionNumber"]["S"] == value(":version"))
            }
            "#owner = :owner" => item.as_ref().is_some_and(|item| item["ownerName"]["S"] == value(":owner")),
            other => panic!("{other}"),
        })
    }

    fn change(&self, operation: &str, body: &Value) {
        let mut item = self.item.lock().unwrap();
        match operation {
            "PutItem" => *item = Some(body["Item"].clone()),
            "DeleteItem" => *item = None,
            _ => item.as_mut().unwrap()["recordVersionNumber"] = body["ExpressionAttributeValues"][":next"].clone(),
        }
    }

    /// Changes the item, if the condition holds.
    fn answered(&self, operation: &str, body: &Value) -> Result<JsonAnswer> {
        if !self.holds(body) {
            return Self::refused("ConditionalCheckFailedException");
        }
        self.change(operation, body);
        Self::done(&json!({}))
    }

    fn refused(code: &str) -> Result<JsonAnswer> {
        Ok(JsonAnswer::Refused { code: code.to_owned(), message: String::new() })
    }

    fn done(body: &Value) -> Result<JsonAnswer> {
        Ok(JsonAnswer::Done(Bytes::from(body.to_string())))
    }
}

impl JsonService for LockService {
    fn call(&self, operation: &str, body: Bytes) -> Result<JsonAnswer> {
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["TableName"], "locks");
        let mut creation = self.creation.lock().unwrap();
        match (operation, &mut *creation) {
            ("CreateTable", creation) => {
                *creation = Some(2);
                *self.created.lock().unwrap() = Some(body);
                return Self::done(&json!({}));
            }
            ("DescribeTable", Some(left)) => {
                *left = left.saturating_sub(1);
                let status = if *left == 0 { "ACTIVE" } else { "CREATING" };
                return Self::done(&json!({"Table": {"TableStatus": status}}));
            }
            (_, None | Some(1..)) => return Self::refused("ResourceNotFoundException"),
            _ => {}
        }
        drop(creation);
        if operation == "GetItem" {
            assert_eq!(body["Key"]["key"]["S"], "trips");
            return Self::done(&self.item().map_or(json!({}), |item| json!({"Item": item})));
        }
        let event = self.events.lock().unwrap().pop_front();
        let lost = || Err(Error::new(ErrorKind::Unreachable, "no answer"));
        match event {
            Some(Event::Fails) => return lost(),
            Some(Event::Before(other)) => {
                other();
                return self.answered(operation, &body);
            }
            _ => {}
        }
        let answered = self.answered(operation, &body);
        if matches!(event, Some(Event::AnswerIsLost)) { lost() } else { answered }
    }
}

fn lock(service: &Arc<LockService>, time: &SimulatedTime) -> DynamoDbLock {
    let options = WriteOptions::resolve([("hoodie.write.lock.dynamodb.table", "locks")]).unwrap();
    let settings = DynamoDbSettings::resolve(&options, "trips".to_owned()).unwrap();
    DynamoDbLock::new(Arc::clone(service) as _, settings, Arc::new(time.clone()))
}

fn taken(service: &Arc<LockService>, time: &SimulatedTime) -> Box<dyn HeldLock> {
    lock(service, time).try_acquire().unwrap().unwrap()
}

fn of_other(version: &str) -> Value {
    json!({
        "key": {"S": "trips"}, "ownerName": {"S": "hudi"}, "leaseDuration": {"S": "60000"},
        "recordVersionNumber": {"S": version},
    })
}

#[test]
fn an_item_is_the_lock_and_is_deleted_when_it_is_given_back() {
    let (service, time) = (LockService::with_table(), SimulatedTime::default());
    let mut held = taken(&service, &time);
    held.check().unwrap();
    assert_eq!((service.text("key"), service.text("leaseDuration")), ("trips".to_owned(), "60000".to_owned()));
    assert!(service.text("ownerName").starts_with("mortice-"));
    assert!(lock(&service, &time).try_acquire().unwrap().is_none());
    held.release().unwrap();
    assert_eq!(service.item(), None);
    // Hudi's client can also leave an item that says so.
    let mut released = of_other("1");
    released["isReleased"] = json!({"S": "1"});
    let service = LockService::with_item(released);
    taken(&service, &time).check().unwrap();
}

#[test]
fn a_table_that_does_not_exist_is_created() {
    let (service, time) = (Arc::new(LockService::default()), SimulatedTime::default());
    drop(taken(&service, &time));
    let created = service.created.lock().unwrap().clone().unwrap();
    assert_eq!(created["BillingMode"], "PAY_PER_REQUEST");
    assert_eq!(created["KeySchema"], json!([{"AttributeName": "key", "KeyType": "HASH"}]));
    assert_eq!(time_passed(&time), Duration::from_secs(1));
}

fn time_passed(time: &SimulatedTime) -> Duration {
    mortice_base::time::Time::monotonic(time)
}

#[test]
fn a_lock_is_renewed_by_a_new_version() {
    let (service, time) = (LockService::with_table(), SimulatedTime::default());
    let mut held = taken(&service, &time);
    let other = lock(&service, &time);
    let mut versions = std::collections::BTreeSet::from([service.text("recordVersionNumber")]);
    for _ in 0..9 {
        assert!(other.try_acquire().unwrap().is_none());
        time.advance(LEASE / 3);
        versions.insert(service.text("recordVersionNumber"));
    }
    assert_eq!(versions.len(), 10);
    held.check().unwrap();
}

/// As long as its item says, by the clock of the writer that waits.
#[test]
fn a_lock_that_is_not_renewed_is_taken_over() {
    let (service, time) = (LockService::with_item(of_other("1")), SimulatedTime::default());
    let waiting = lock(&service, &time);
    assert!(waiting.try_acquire().unwrap().is_none());
    time.advance(LEASE - Duration::from_millis(1));
    assert!(waiting.try_acquire().unwrap().is_none());
    *service.item.lock().unwrap() = Some(of_other("2"));
    time.advance(Duration::from_millis(1));
    assert!(waiting.try_acquire().unwrap().is_none(), "it was renewed");
    time.advance(LEASE);
    waiting.try_acquire().unwrap().unwrap().check().unwrap();
    // A writer waits for that: 60 s are also what it waits for a lock that is held.
    let service = LockService::with_item(of_other("1"));
    let wait = LockWait { limit: LEASE, pause: Duration::from_secs(1) };
    acquire(&lock(&service, &time), wait, &time).unwrap().release().unwrap();
}

#[test]
fn of_two_that_take_a_lock_at_once_one_has_it() {
    let (service, time) = (LockService::with_table(), SimulatedTime::default());
    let (sender, first) = std::sync::mpsc::channel();
    let (faster, clock) = (Arc::clone(&service), time.clone());
    service.add(Event::Before(Box::new(move || sender.send(taken(&faster, &clock)).unwrap())));
    assert!(lock(&service, &time).try_acquire().unwrap().is_none());
    first.recv().unwrap().check().unwrap();
}

#[test]
fn a_lock_that_was_taken_without_an_answer_is_held() {
    let (service, time) = (LockService::with_table(), SimulatedTime::default());
    service.add(Event::AnswerIsLost);
    let mut held = taken(&service, &time);
    held.check().unwrap();
    // So it is after a renewal without an answer, and is given back.
    service.add(Event::AnswerIsLost);
    time.advance(LEASE / 3);
    held.check().unwrap();
    time.advance(LEASE / 3);
    held.check().unwrap();
    service.add(Event::AnswerIsLost);
    time.advance(LEASE / 3);
    held.release().unwrap();
    assert_eq!(service.item(), None);
    service.add(Event::Fails);
    assert_eq!(lock(&service, &time).try_acquire().err().unwrap().kind(), ErrorKind::Unreachable);
}

#[test]
fn a_holder_that_lost_the_lock_finds_out_and_leaves_it() {
    for other in [Some(of_other("1")), None] {
        let (service, time) = (LockService::with_table(), SimulatedTime::default());
        let mut held = taken(&service, &time);
        (*service.item.lock().unwrap()).clone_from(&other);
        held.state().unwrap().check_time().unwrap();
        assert_eq!(held.check().unwrap_err().kind(), ErrorKind::WriteConflict);
        held.release().unwrap();
        assert_eq!(service.item(), other);
    }
}

/// A writer that is stopped for longer than its lock is valid has lost it when it goes on.
#[test]
fn a_holder_that_cannot_renew_has_lost_the_lock_before_it_is_another_writers() {
    let (service, time) = (LockService::with_table(), SimulatedTime::default());
    let held = taken(&service, &time);
    let waiting = lock(&service, &time);
    assert!(waiting.try_acquire().unwrap().is_none());
    (0..10).for_each(|_| service.add(Event::Fails));
    time.advance(LEASE - Duration::from_millis(1));
    held.state().unwrap().check_time().unwrap();
    assert!(waiting.try_acquire().unwrap().is_none());
    time.advance(Duration::from_millis(1));
    assert_eq!(held.state().unwrap().check_time().unwrap_err().kind(), ErrorKind::WriteConflict);
    service.events.lock().unwrap().clear();
    let mut next = waiting.try_acquire().unwrap().unwrap();
    drop(held);
    next.check().unwrap();
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_what_to_do() {
    let (service, time) = (LockService::with_item(json!({"key": {"S": "trips"}})), SimulatedTime::default());
    let error = lock(&service, &time).try_acquire().err().unwrap();
    assert!(error.kind() == ErrorKind::InvalidTable && error.to_string().contains("remove the item"), "{error}");
}

#[test]
fn options_are_hudis() {
    let resolve = |pairs: &[(&str, &str)]| {
        let options = WriteOptions::resolve(pairs.iter().copied()).unwrap();
        DynamoDbSettings::resolve(&options, "trips".to_owned())
    };
    let settings = resolve(&[("hoodie.write.lock.dynamodb.billing_mode", "provisioned")]).unwrap();
    assert_eq!((settings.table.as_str(), settings.capacity), ("hudi_locks", Some((20, 10))));
    let error = resolve(&[("hoodie.write.lock.wait_time_ms", "999")]).unwrap_err().to_string();
    assert!(error.contains("wait_time_ms must be at least 1000"), "{error}");
}
