//! A program that is asked what ../../../README.md says, for a receiver of one agent (`own`) and for one that has KiiPush's
//! contract (`shared`).

mod payload;
mod receiver;
mod shared;

use payload::{Kind, Payload};
use receiver::{Outcome, Receiver};
use std::cell::Cell;
use std::future::Future;
use std::io::Write;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The rate that `check` asks for, and one that is never reached.
const LIMIT: u32 = 20;
const NO_LIMIT: u32 = 1_000_000_000;

fn receiver(limit: u32, read: &Cell<usize>) -> Receiver<'_> {
    let mut receiver = Receiver::new("0123abcd", "th.1", limit);
    for number in 1..98 {
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
fn shared_receiver(limit: u32, read: &Arc<AtomicUsize>) -> shared::Receiver {
    let mut receiver = shared::Receiver::new("0123abcd", "th.1", limit);
    for number in 1..98 {
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
        Outcome::Paced => "paced",
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

/// Passes through the lines, each with a receiver made anew and untimed; returns the time, and how many were handled.
fn pass<Line, Receiver>(
    lines: &[Line],
    passes: usize,
    make: impl Fn() -> Receiver,
    receive: impl Fn(&mut Receiver, &Line) -> Outcome,
) -> (Duration, usize) {
    let (mut time, mut handled) = (Duration::ZERO, 0);
    for _ in 0..passes {
        let mut receiver = make();
        let start = Instant::now();
        for line in lines {
            handled += (receive(&mut receiver, line) == Outcome::Handled) as usize;
        }
        time += start.elapsed();
    }
    (time, handled)
}

fn usage() -> ! {
    eprintln!("usage: rust-peer own|shared check FILE | time FILE PASSES");
    std::process::exit(64);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    if arguments.len() < 3 {
        usage();
    }
    let bytes = std::fs::read(arguments[2]).expect("the file of payloads can be read");
    let lines: Vec<&[u8]> = bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|byte| *byte == b'\n').collect();
    let passes = arguments.get(3).map_or(0, |text| text.parse().expect("a number of passes"));
    let waker = Waker::from(Arc::new(Nobody));
    let receive_shared = |receiver: &shared::Receiver, line: &Arc<[u8]>| {
        receive_shared(receiver, line.clone(), &mut Context::from_waker(&waker))
    };
    let (read, read_shared) = (Cell::new(0), Arc::new(AtomicUsize::new(0)));
    // The first pass is not counted.
    let (time, handled) = match (arguments[0], arguments[1]) {
        ("own", "check") => {
            let mut receiver = receiver(LIMIT, &read);
            return check(&lines, |line| receiver.receive(line));
        }
        ("shared", "check") => {
            let receiver = shared_receiver(LIMIT, &read_shared);
            return check(&lines, |line| receive_shared(&receiver, &Arc::from(line)));
        }
        ("own", "time") => {
            let make = || receiver(NO_LIMIT, &read);
            let run = |passes| pass(&lines, passes, make, |receiver, line| receiver.receive(line));
            run(1);
            read.set(0);
            run(passes)
        }
        ("shared", "time") => {
            let lines: Vec<Arc<[u8]>> = lines.iter().map(|line| Arc::from(*line)).collect();
            let make = || shared_receiver(NO_LIMIT, &read_shared);
            let run = |passes| pass(&lines, passes, make, |receiver, line| receive_shared(receiver, line));
            run(1);
            read_shared.store(0, Relaxed);
            run(passes)
        }
        _ => usage(),
    };
    println!("{} {handled} {}", time.as_nanos(), read.get() + read_shared.load(Relaxed));
}
