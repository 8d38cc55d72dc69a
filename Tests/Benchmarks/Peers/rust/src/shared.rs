//! A receiver of KiiPush's contract: it is shared by tasks, reserves a message before its handler runs and remembers it
//! after, counts objects and buckets, counts what is handled, and awaits a handler that may keep what it gets.

use crate::payload::{Kind, Message, Payload};
use crate::receiver::{Outcome, Rate, Seen};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What a handler gets, and may keep: the bytes, shared, and strings of its own for bucket and scope.
pub struct Event {
    bytes: Arc<[u8]>,
    object: Object,
    pub bucket: String,
    pub scope_id: String,
}

/// Where the object's id stands; of one that had escapes, the text.
enum Object {
    At(usize, usize),
    Own(String),
}

impl Event {
    /// A string made when it is asked for.
    pub fn object(&self) -> String {
        match &self.object {
            Object::At(start, end) => String::from_utf8_lossy(&self.bytes[*start..*end]).into_owned(),
            Object::Own(text) => text.clone(),
        }
    }
}

/// What a handler gets beside: the message's number, its route, and when it came.
#[allow(dead_code)]
pub struct Context {
    pub id: u64,
    pub route: Arc<Route>,
    pub arrived_at: Instant,
}

type Done = Pin<Box<dyn Future<Output = Result<(), ()>> + Send>>;
type Handler = Box<dyn Fn(Event, Context) -> Done + Send + Sync>;

pub struct Route {
    handled: AtomicU64,
    handler: Handler,
}

struct State {
    seen: Seen,
    in_flight: HashSet<u64>,
    objects: Rate,
    buckets: Rate,
}

pub struct Receiver {
    app: String,
    me: String,
    buckets: HashMap<String, usize>,
    topics: HashMap<String, usize>,
    direct: Option<usize>,
    routes: Vec<Arc<Route>>,
    state: Mutex<State>,
    last: AtomicU64,
    handled: AtomicU64,
}

impl Receiver {
    pub fn new(app: &str, me: &str, limit: u32) -> Self {
        let state = State {
            seen: Seen::new(),
            in_flight: HashSet::new(),
            objects: Rate::new(limit),
            // As many as a hundred of its objects may have.
            buckets: Rate::new(limit.saturating_mul(100)),
        };
        Receiver {
            app: app.into(),
            me: me.into(),
            buckets: HashMap::new(),
            topics: HashMap::new(),
            direct: None,
            routes: Vec::new(),
            state: Mutex::new(state),
            last: AtomicU64::new(0),
            handled: AtomicU64::new(0),
        }
    }

    fn add<F>(&mut self, handler: impl Fn(Event, Context) -> F + Send + Sync + 'static) -> usize
    where
        F: Future<Output = Result<(), ()>> + Send + 'static,
    {
        let handler: Handler = Box::new(move |event, context| Box::pin(handler(event, context)));
        self.routes.push(Arc::new(Route { handled: AtomicU64::new(0), handler }));
        self.routes.len() - 1
    }

    pub fn on_bucket<F>(&mut self, name: String, handler: impl Fn(Event, Context) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), ()>> + Send + 'static,
    {
        let route = self.add(handler);
        self.buckets.insert(name, route);
    }

    pub fn on_topic(&mut self, name: &str) {
        let route = self.add(|_, _| async { Ok(()) });
        self.topics.insert(name.into(), route);
    }

    pub fn on_direct_push(&mut self) {
        self.direct = Some(self.add(|_, _| async { Ok(()) }));
    }

    pub async fn receive(&self, bytes: Arc<[u8]>) -> Outcome {
        let (event, key, age, context) = match self.admit(&bytes) {
            Ok(admitted) => admitted,
            Err(outcome) => return outcome,
        };
        let route = context.route.clone();
        let end = (route.handler)(event, context).await;
        let now = Instant::now();
        let mut state = self.state.lock().expect("no handler runs under the lock");
        state.in_flight.remove(&key);
        if end.is_err() {
            return Outcome::Unrouted;
        }
        state.seen.remember(key, now + age);
        drop(state);
        route.handled.fetch_add(1, Relaxed);
        self.handled.fetch_add(1, Relaxed);
        Outcome::Handled
    }

    /// Everything up to the handler, under one lock.
    fn admit(&self, bytes: &Arc<[u8]>) -> Result<(Event, u64, std::time::Duration, Context), Outcome> {
        let id = self.last.fetch_add(1, Relaxed);
        let payload = Payload::parse(bytes).ok_or(Outcome::Undecodable)?;
        let message = payload.classify(bytes);
        let route = match message.kind {
            Kind::PushToApp => message.bucket.and_then(|name| self.buckets.get(name)).copied(),
            Kind::PushToUser => message.topic.and_then(|name| self.topics.get(name)).copied(),
            Kind::DirectPush => self.direct,
        };
        let now = Instant::now();
        let mut state = self.state.lock().expect("no handler runs under the lock");
        let state = &mut *state;
        let (key, age) = state.seen.key(&message);
        if state.seen.contains(key, now) || state.in_flight.contains(&key) {
            return Err(Outcome::Duplicate);
        }
        if message.sender == Some(&self.me) {
            state.seen.remember(key, now + age);
            return Err(Outcome::Looped);
        }
        if message.app.map_or(false, |app| app != self.app) || !serves(&message) {
            return Err(Outcome::Refused);
        }
        let route = route.ok_or(Outcome::Unrouted)?;
        let of_bucket = Message { object: None, sender: None, ..message };
        if !state.objects.passes(route, &message, now) || !state.buckets.passes(route, &of_bucket, now) {
            state.seen.remember(key, now + age);
            return Err(Outcome::Paced);
        }
        state.in_flight.insert(key);
        let inside = bytes.as_ptr_range();
        let object = match message.object {
            None => Object::At(0, 0),
            Some(text) if inside.contains(&text.as_ptr()) => {
                let start = text.as_ptr() as usize - inside.start as usize;
                Object::At(start, start + text.len())
            }
            Some(text) => Object::Own(text.to_string()),
        };
        let text = |part: Option<&str>| part.unwrap_or("").to_string();
        let (bucket, scope_id) = (text(message.bucket), text(message.scope_id));
        let context = Context { id, route: self.routes[route].clone(), arrived_at: now };
        Ok((Event { bytes: bytes.clone(), object, bucket, scope_id }, key, age, context))
    }
}

/// The app's scope, and every user's.
fn serves(message: &Message) -> bool {
    match message.scope {
        None | Some("APP") => true,
        Some("APP_AND_USER") => message.scope_id.is_some(),
        Some(_) => false,
    }
}
