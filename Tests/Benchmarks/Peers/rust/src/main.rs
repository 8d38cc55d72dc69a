//! Speaks the protocol of ../README.md, for the bare parser and for the receiver.

mod payload;
mod receiver;
mod shared;

use payload::{Kind, Payload};
use receiver::{Outcome, Receiver};
use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::io::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The rate that `check` asks for, and one that is never reached.
const LIMIT: u32 = 20;
const NO_LIMIT: u32 = 1_000_000_000;

fn receiver(routes: usize, limit: u32, read: &Cell<usize>) -> Receiver<'_> {
    let mut receiver = Receiver::new("0123abcd", "th.1", limit);
    for number in 1..routes.saturating_sub(2) {
        receiver.on_bucket(format!("bucket{number}"), |_| ());
    }
    receiver.on_bucket("bucketName", move |message| {
        let texts = [message.bucket, message.object, message.scope_id];
        read.set(read.get() + texts.iter().flatten().map(|text| text.len()).sum::<usize>());
    });
    receiver.on_topic("news", |_| ());
    receiver.on_direct_push(|_| ());
    receiver
}

/// A receiver that tasks share, with a handler that makes strings of bucket, object and scope.
fn shared_receiver(routes: usize, limit: u32, read: &Arc<AtomicUsize>) -> shared::Receiver {
    let mut receiver = shared::Receiver::new("0123abcd", "th.1", limit);
    for number in 1..routes.saturating_sub(2) {
        receiver.on_bucket(format!("bucket{number}"), |_, _| async { Ok(()) });
    }
    let read = read.clone();
    receiver.on_bucket("bucketName".into(), move |event, _| {
        let read = read.clone();
        async move {
            read.fetch_add(event.bucket.len() + event.object().len() + event.scope_id.len(), Relaxed);
            Ok(())
        }
    });
    receiver.on_topic("news");
    receiver.on_direct_push();
    receiver
}

/// Nobody to wake: no handler here waits.
struct Nobody;
impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// Receives a message whose handler does not wait.
fn receive_shared(receiver: &shared::Receiver, line: Arc<[u8]>, context: &mut Context) -> Outcome {
    match pin!(receiver.receive(line)).poll(context) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => unreachable!("no handler waits"),
    }
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Handled => "handled",
        Outcome::Duplicate => "duplicate",
        Outcome::Looped => "looped",
        Outcome::Held => "paced",
        Outcome::Refused => "refused",
        Outcome::Unrouted => "unrouted",
        Outcome::Undecodable => "undecodable",
    }
}

fn check(lines: &[&[u8]], mut receive: impl FnMut(&[u8]) -> Outcome) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let outcome = name(receive(line));
        let row = match Payload::parse(line) {
            None => format!("-\t-\t-\t-\t-\t{outcome}"),
            Some(payload) => {
                let message = payload.classify(line);
                let kind = match message.kind {
                    Kind::PushToApp => "pushToApp",
                    Kind::PushToUser => "pushToUser",
                    Kind::DirectPush => "directPush",
                };
                let scope = match (message.scope, message.scope_id) {
                    (Some(scope), Some(id)) => format!("{scope}:{id}"),
                    (scope, _) => scope.unwrap_or("-").into(),
                };
                let shown = [message.bucket, message.object, message.topic].map(|text| text.unwrap_or("-"));
                format!("{kind}\t{}\t{scope}\t{outcome}", shown.join("\t"))
            }
        };
        writeln!(out, "{row}").expect("standard output is open");
    }
}

/// Passes through the file, each with a state made anew and untimed, until so many messages are done.
fn time<Line: ?Sized, Lines: std::ops::Deref<Target = Line>, State>(
    lines: &[Lines],
    messages: usize,
    make: impl Fn() -> State,
    each: impl Fn(&mut State, &Lines),
) -> Duration {
    let mut sum = Duration::ZERO;
    let mut left = messages;
    while left > 0 {
        let count = left.min(lines.len());
        let mut state = make();
        let start = Instant::now();
        for line in &lines[..count] {
            each(&mut state, line);
        }
        sum += start.elapsed();
        left -= count;
    }
    sum
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<usize>().ok());
    // A `match`, since Debian's compiler does not know `let … else` yet.
    let (what, verb, file, routes) = match (arguments.get(1), arguments.get(2), arguments.get(3), number(4)) {
        (Some(what), Some(verb), Some(file), Some(routes)) => (what, verb, file, routes),
        _ => {
            eprintln!("usage: rust-peer parse|receive|share check FILE ROUTES | time FILE ROUTES MESSAGES");
            std::process::exit(64);
        }
    };
    let bytes = std::fs::read(file).expect("the file of payloads can be read");
    let lines: Vec<&[u8]> = bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|byte| *byte == b'\n').collect();
    let waker = Waker::from(Arc::new(Nobody));
    let read_shared = Arc::new(AtomicUsize::new(0));
    if verb == "check" {
        let read = Cell::new(0);
        let mut own = receiver(routes, LIMIT, &read);
        let tasks = shared_receiver(routes, LIMIT, &read_shared);
        return match what.as_str() {
            "share" => check(&lines, |line| {
                receive_shared(&tasks, Arc::from(line), &mut Context::from_waker(&waker))
            }),
            _ => check(&lines, |line| own.receive(line)),
        };
    }
    let messages = number(5).expect("a number of messages");
    let (handled, read) = (Cell::new(0), Cell::new(0));
    let parse = |_: &mut (), line: &&[u8]| drop(black_box(Payload::parse(black_box(line))));
    let count = |outcome: Outcome| handled.set(handled.get() + (outcome == Outcome::Handled) as usize);
    let take = |receiver: &mut Receiver, line: &&[u8]| count(receiver.receive(line));
    let share = |receiver: &mut shared::Receiver, line: &Arc<[u8]>| {
        count(receive_shared(receiver, line.clone(), &mut Context::from_waker(&waker)))
    };
    let sum = match what.as_str() {
        "parse" => {
            time(&lines, messages, || (), parse);
            handled.set(messages);
            time(&lines, messages, || (), parse)
        }
        "share" => {
            let lines: Vec<Arc<[u8]>> = lines.iter().map(|line| Arc::from(*line)).collect();
            time(&lines, messages, || shared_receiver(routes, NO_LIMIT, &read_shared), share);
            handled.set(0);
            read_shared.store(0, Relaxed);
            let sum = time(&lines, messages, || shared_receiver(routes, NO_LIMIT, &read_shared), share);
            read.set(read_shared.load(Relaxed));
            sum
        }
        _ => {
            time(&lines, messages, || receiver(routes, NO_LIMIT, &read), take);
            (handled.set(0), read.set(0));
            time(&lines, messages, || receiver(routes, NO_LIMIT, &read), take)
        }
    };
    let nanoseconds = sum.as_nanos();
    println!(
        r#"{{"messages":{messages},"nanoseconds":{nanoseconds},"handled":{},"read":{}}}"#,
        handled.get(),
        read.get()
    );
}
