//! A receiver as one would write it for one agent: no lock, no future, standard collections.

use crate::payload::{Kind, Message, Payload};
use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Handled,
    Duplicate,
    Looped,
    Paced,
    Refused,
    Unrouted,
    Undecodable,
}

/// The last 20,000 messages of 10 minutes; 5 seconds for those that are known by their bytes alone.
pub struct Seen {
    hasher: RandomState,
    until: HashMap<u64, Instant>,
    order: VecDeque<u64>,
}

impl Seen {
    const COUNT: usize = 20_000;

    pub fn new() -> Self {
        Seen { hasher: RandomState::new(), until: HashMap::new(), order: VecDeque::new() }
    }

    pub fn key(&self, message: &Message) -> (u64, Duration) {
        let mut key = self.hasher.build_hasher();
        message.kind.hash(&mut key);
        match (message.kind, message.when) {
            (Kind::PushToApp, Some(when)) => {
                (message.app, message.scope, message.scope_id).hash(&mut key);
                (message.bucket, message.object, message.event, when).hash(&mut key);
            }
            (Kind::PushToUser, Some(when)) => {
                (message.app, message.scope, message.scope_id).hash(&mut key);
                (message.topic, message.sender, when, message.bytes).hash(&mut key);
            }
            _ => {
                message.bytes.hash(&mut key);
                return (key.finish(), Duration::from_secs(5));
            }
        }
        (key.finish(), Duration::from_secs(600))
    }

    pub fn contains(&self, key: u64, now: Instant) -> bool {
        self.until.get(&key).map_or(false, |until| now < *until)
    }

    pub fn remember(&mut self, key: u64, until: Instant) {
        if self.until.insert(key, until).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > Self::COUNT {
            if let Some(oldest) = self.order.pop_front() {
                self.until.remove(&oldest);
            }
        }
    }
}

/// Messages of one object, or of one topic and sender, counted in windows of 10 seconds.
pub struct Rate {
    hasher: RandomState,
    counts: HashMap<u64, (Instant, u32)>,
    limit: u32,
}

impl Rate {
    const WINDOW: Duration = Duration::from_secs(10);
    const KEYS: usize = 10_000;

    pub fn new(limit: u32) -> Self {
        Rate { hasher: RandomState::new(), counts: HashMap::new(), limit }
    }

    pub fn passes(&mut self, route: usize, message: &Message, now: Instant) -> bool {
        let mut key = self.hasher.build_hasher();
        (route, message.bucket, message.object, message.topic, message.sender).hash(&mut key);
        if self.counts.len() >= Self::KEYS {
            self.counts.retain(|_, (start, _)| now < *start + Self::WINDOW);
        }
        match self.counts.entry(key.finish()) {
            Entry::Occupied(mut entry) => {
                let (start, count) = entry.get_mut();
                if now >= *start + Self::WINDOW {
                    (*start, *count) = (now, 0);
                }
                *count += 1;
                *count <= self.limit
            }
            Entry::Vacant(entry) => {
                entry.insert((now, 1));
                true
            }
        }
    }
}

type Handler<'h> = Box<dyn Fn(&Message) + 'h>;

pub struct Receiver<'h> {
    app: String,
    me: String,
    buckets: HashMap<String, usize>,
    topics: HashMap<String, usize>,
    direct: Option<usize>,
    handlers: Vec<Handler<'h>>,
    seen: Seen,
    rate: Rate,
}

impl<'h> Receiver<'h> {
    pub fn new(app: &str, me: &str, limit: u32) -> Self {
        Receiver {
            app: app.into(),
            me: me.into(),
            buckets: HashMap::new(),
            topics: HashMap::new(),
            direct: None,
            handlers: Vec::new(),
            seen: Seen::new(),
            rate: Rate::new(limit),
        }
    }

    pub fn on_bucket(&mut self, name: impl Into<String>, handler: impl Fn(&Message) + 'h) {
        self.buckets.insert(name.into(), self.handlers.len());
        self.handlers.push(Box::new(handler));
    }

    pub fn on_topic(&mut self, name: impl Into<String>, handler: impl Fn(&Message) + 'h) {
        self.topics.insert(name.into(), self.handlers.len());
        self.handlers.push(Box::new(handler));
    }

    pub fn on_direct_push(&mut self, handler: impl Fn(&Message) + 'h) {
        self.direct = Some(self.handlers.len());
        self.handlers.push(Box::new(handler));
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Outcome {
        match Payload::parse(bytes) {
            None => Outcome::Undecodable,
            Some(payload) => self.take(&payload.classify(bytes)),
        }
    }

    fn take(&mut self, message: &Message) -> Outcome {
        let route = match message.kind {
            Kind::PushToApp => message.bucket.and_then(|name| self.buckets.get(name)).copied(),
            Kind::PushToUser => message.topic.and_then(|name| self.topics.get(name)).copied(),
            Kind::DirectPush => self.direct,
        };
        let now = Instant::now();
        let (key, age) = self.seen.key(message);
        if self.seen.contains(key, now) {
            return Outcome::Duplicate;
        }
        if message.sender == Some(&self.me) {
            self.seen.remember(key, now + age);
            return Outcome::Looped;
        }
        if message.app.map_or(false, |app| app != self.app) || !Self::serves(message) {
            return Outcome::Refused;
        }
        let route = match route {
            Some(route) => route,
            None => return Outcome::Unrouted,
        };
        let outcome = if self.rate.passes(route, message, now) {
            self.handlers[route](message);
            Outcome::Handled
        } else {
            Outcome::Paced
        };
        self.seen.remember(key, now + age);
        outcome
    }

    fn serves(message: &Message) -> bool {
        match message.scope {
            None | Some("APP") => true,
            Some("APP_AND_USER") => message.scope_id.is_some(),
            Some(_) => false,
        }
    }
}
