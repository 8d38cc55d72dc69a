import KiiPush
import KiiPushDelivery

extension TransportGuarantee {
    /// Every guarantee, in the order of checking.
    static let all = [names] + handingOver + room + answers + refusals + ends

    // MARK: Names

    private static let names = Self("its name is a valid metrics label without an address") { trial in
        if let what = wrong(name: trial.bench.transport.name) { trial.fail(what) }
    }

    static func wrong(name: String) -> String? {
        let isFit = name.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                    || "-_".unicodeScalars.contains(scalar))
        }
        return name.isEmpty || !isFit ? "expected a name of letters, digits, - and _" : nil
    }

    // MARK: Submitting

    private static let handingOver = [
        Self("payloads of one sender are handed over in their order, unchanged") { trial in
            trial.intake.endAll(.superseded)
            trial.start()
            try await trial.expectTaken(1...1, "of one")
            try await trial.expectTaken(2...300, "of many")
        },
        Self("at most 64 payloads are handed over at once") { trial in
            trial.intake.endAll(.superseded)
            trial.intake.setRoom(0)
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...300))
            guard await trial.expectTry() else { return }
            trial.intake.setRoom(.max)
            await trial.expectTaken(TransportTrial.payloads(1...300), "when there is room")
            let largest = trial.intake.batches.max() ?? 0
            if largest > 64 { trial.fail("\(largest) were handed over at once") }
        },
        Self("after the sender cuts the link, it continues or returns") { trial in
            trial.intake.endAll(.superseded)
            trial.start()
            try await trial.expectTaken(1...3, "before")
            try await trial.bench.cut()
            if trial.bench.endsWhenCut { return await trial.expectReturn("when the input has ended") }
            try await trial.expectTaken(4...6, "after the cut")
            if trial.hasEnded { trial.fail("it should go on after the cut") }
        },
    ]

    // MARK: Capacity

    private static let room = [
        Self("while the intake is full nothing is lost, and everything arrives in order afterwards") { trial in
            trial.intake.endAll(.superseded)
            trial.intake.setRoom(10)
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...200))
            await trial.expectTaken(TransportTrial.payloads(1...10), "with room for ten")
            for step in [1, 2, 64, 5, 1, 117] {
                let count = trial.intake.payloads.count + step
                trial.intake.setRoom(step)
                await trial.expectTaken(TransportTrial.payloads(1...count), "with room for \(step) more")
                guard trial.intake.payloads.count == count else { return }
            }
        },
        Self("while the intake is full it waits to be notified, and does not poll") { trial in
            trial.intake.endAll(.superseded)
            trial.intake.setRoom(0)
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...20))
            guard await trial.comes({ trial.intake.isAwaited }) else {
                return trial.fail("it does not wait to be told")
            }
            for step in 1...20 {
                trial.intake.setRoom(1)
                guard
                    await trial.comes({ trial.intake.payloads.count == step && (step == 20 || trial.intake.isAwaited) })
                else {
                    return trial.fail("told of room, it should take payload \(step)")
                }
            }
            // Batches shrink until they fit, which takes a few attempts each time.
            let most = 8 * 21
            if trial.intake.refusals > most {
                trial.fail("it asked \(trial.intake.refusals) times; \(most) are enough")
            }
        },
    ]

    // MARK: Answers

    private static let answers = [
        Self("a payload that is not stored is acknowledged when it has ended, and not before") { trial in
            trial.start()
            try await trial.expectTaken(1...3, "of three")
            try trial.expectNoMoreAcknowledged(than: 0, "before any has ended")
            trial.intake.end(0, .superseded)
            try await trial.expectAnswers(acknowledged: 1, othersAreOpen: true, "when the first has ended")
            trial.intake.end(1, .undecodable(DecodeError(.empty, at: 0, "nothing")))
            try await trial.expectAnswers(
                acknowledged: 2, othersAreOpen: true, "when the second was rejected, which deals with it")
            trial.intake.end(2, .quarantined)
            try await trial.expectAnswers(acknowledged: 3, "when all have ended")
        },
        Self("a payload that is to be tried later is not acknowledged") { trial in
            trial.start()
            try await trial.expectTaken(1...2, "of two")
            trial.intake.end(0, .duplicate(.inFlight(.retryLater)))
            trial.intake.end(1, .superseded)
            try await trial.expectAnswers(
                acknowledged: 1, refused: 1, othersAreOpen: true, "when one is to be tried later")
            try await trial.expectRedelivery(of: 1)
        },
        Self("a payload that the service left unstored is not acknowledged") { trial in
            trial.start()
            try await trial.expectTaken(1...2, "of two")
            trial.intake.end(0, nil)
            trial.intake.end(1, .superseded)
            try await trial.expectAnswers(
                acknowledged: 1, refused: 1, othersAreOpen: true, "when the service has left one")
        },
        Self("a stored payload is acknowledged, however it ends", isDurable: true) { trial in
            trial.start()
            try await trial.expectTaken(1...3, "of three")
            trial.intake.end(0, nil)
            trial.intake.end(1, .superseded)
            try await trial.expectAnswers(acknowledged: 3, "when they are stored")
        },
    ]

    // MARK: Refusals

    private static let refusals = [
        Self("payloads that the inbox could not store are not acknowledged; they are resent or refused") { trial in
            trial.intake.refuse(.failed(InboxFailed()))
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...1))
            guard await trial.expectTry() else { return }
            try trial.expectNoMoreAcknowledged(than: 0, "while the inbox fails")
            if trial.bench.transport.abilities.contains(.refuses) {
                try await trial.expectAnswers(acknowledged: 0, refused: 1, "while the inbox fails")
                trial.intake.refuse(nil)
                return try await trial.expectTaken(2...2, "when the inbox is well")
            }
            trial.intake.refuse(nil)
            await trial.expectTaken(TransportTrial.payloads(1...1), "when the inbox is well")
        },
        Self("payloads that a stopping service does not accept are not acknowledged") { trial in
            trial.intake.refuse(.stopping)
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...1))
            guard await trial.expectTry() else { return }
            try await trial.expectAnswers(acknowledged: 0, refused: 1, "while the service stops")
            trial.cancel()
            await trial.expectReturn("when it is cancelled")
            try trial.expectNoMoreAcknowledged(than: 0, "in the end")
        },
    ]

    // MARK: Ends

    private static let ends = [
        Self("it returns soon after its task is cancelled, and does not throw") { trial in
            trial.start()
            try await trial.expectTaken(1...1, "of one")
            trial.cancel()
            await trial.expectReturn("when it is cancelled")
        },
        Self("it returns when it is cancelled while it waits for capacity") { trial in
            trial.intake.setRoom(0)
            trial.start()
            try await trial.bench.send(TransportTrial.payloads(1...1))
            guard await trial.expectTry() else { return }
            trial.cancel()
            await trial.expectReturn("when it is cancelled")
        },
        Self("it returns when it is cancelled before it has begun") { trial in
            trial.start()
            trial.cancel()
            await trial.expectReturn("when it is cancelled")
        },
        Self("after it was cancelled it acknowledges nothing that has not ended") { trial in
            trial.start()
            try await trial.expectTaken(1...2, "of two")
            trial.intake.end(0, .superseded)
            try await trial.expectAnswers(acknowledged: 1, othersAreOpen: true, "when the first has ended")
            trial.cancel()
            await trial.expectReturn("when it is cancelled")
            try trial.expectNoMoreAcknowledged(than: 1, "in the end")
        },
    ]
}

private struct InboxFailed: Error {}

extension TransportTrial {
    /// Expects that the payload with a number is redelivered, if the transport says that it redelivers.
    func expectRedelivery(of number: Int) async throws {
        guard bench.transport.abilities.contains(.redelivers) else { return }
        let payload = Self.payloads(number...number)[0]
        let hasCome = await comes { intake.payloads.filter { $0.bytes == payload }.count > 1 }
        if !hasCome {
            fail("what was not acknowledged should come again: ask the network for it, or do not state .redelivers")
        }
    }
}
