#if MQTT
import KiiPush
import KiiPushDelivery
import KiiPushLinux

// What has come goes to the intake, and is acknowledged when it is safe.
extension MQTTSession {
    /// Whether there was no room, and nobody has told of some since.
    var isFull: Bool {
        if case .untilSignal = batches.wait { true } else { false }
    }

    /// When to try again what was refused; nil for nothing, and where only a signal says so.
    var nextTry: Instant? {
        guard !arrivals.payloads.isEmpty else { return nil }
        switch batches.wait {
        case .none: return .now
        case .upTo(let time): return .now + time
        case .untilSignal: return nil
        }
    }

    /// Has the intake take what has come, in order, as much of it as there is room for.
    ///
    /// - Throws: ``End/lost(_:)`` when the inbox failed and the broker sends all of it again on another link.
    func handOver() throws(End) {
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
                    // Another link would bring nothing again of a clean session or of quality 0: what is here is all.
                    guard !arrivals.allComeAgain else { throw .lost("the inbox could not keep what came: \(error)") }
                    batches.pauseAfterFailure()
                }
            }
        }
    }

    /// Has acknowledgements wait for what was taken in and is not safe yet.
    private func watch(_ receipts: [Receipt]) {
        guard settings.quality == .one, settings.acknowledges == .whenEnded else { return }
        let signal = control.signal
        for receipt in receipts where !receipt.isStored { unended.add(receipt) { signal.raise() } }
    }
}
#endif
