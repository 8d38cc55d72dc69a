#if MQTT
import KiiPush
import KiiPushDelivery
import KiiPushSystem

// Submits received messages to the intake, and acknowledges them when they are safe.
extension MQTTSession {
    /// Whether the intake was full, and no capacity was reported since.
    var isFull: Bool {
        if case .untilSignal = batches.wait { true } else { false }
    }

    /// When to retry refused payloads; nil if there are none, or only a signal ends the wait.
    var nextTry: Instant? {
        guard !arrivals.payloads.isEmpty, !isHeld else { return nil }
        switch batches.wait {
        case .none: return .now
        case .upTo(let time): return .now + time
        case .untilSignal: return nil
        }
    }

    /// Submits the received payloads to the intake, in order, as far as it has capacity, unless they wait.
    ///
    /// - Throws: ``End/lost(_:)`` if the inbox failed and the broker redelivers everything on a new connection.
    func handOver() throws(End) {
        defer { keepRetained() }
        guard !isHeld else { return }
        while !arrivals.payloads.isEmpty, case .none = batches.wait {
            do throws(IntakeRefusal) {
                let receipts = try batches.submit(arrivals.payloads)
                arrivals.removeFirst(receipts.count)
                unacknowledged += receipts.count
                watch(receipts)
            } catch {
                switch error {
                case .full: break
                case .stopping: throw .stopped
                case .failed(let error):
                    // A clean session or quality of service 0 redelivers nothing: these payloads are the only copies.
                    guard !arrivals.allComeAgain else {
                        throw .lost("the inbox could not store the payloads: \(error)")
                    }
                    batches.pauseAfterFailure()
                }
            }
        }
    }

    /// Remembers retained messages that a durable inbox has accepted; those in memory would be lost with the process.
    private func keepRetained() {
        guard intake.isDurable, let problem = retained.keep(arrivals.retained) else { return }
        intake.report(.ignored(problem))
    }

    /// Makes acknowledgements wait for accepted payloads that are not yet safe.
    private func watch(_ receipts: [Receipt]) {
        let signal = control.signal
        for receipt in receipts where !receipt.isStored { unended.add(receipt) { signal.raise() } }
    }
}
#endif
