// Answers: kept in the inbox before their message ends, and then delivered, once each, by their sender.
//
//     handler > GivenAnswers > InboxRecord.answer > .ended > AnswerSender.send > .answered

import KiiPush

/// Those who deliver a service's answers, and the signal that each waits for.
struct AnswerSenders: Sendable {
    private(set) var all:
        [(sender: any AnswerSender, signal: AsyncStream<Void>, wake: AsyncStream<Void>.Continuation)] = []

    init(_ senders: [any AnswerSender]) {
        // Of two with one name each would take the other's answers.
        for sender in senders where !all.contains(where: { $0.sender.name.isExactly(sender.name) }) {
            let (signal, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            all.append((sender, signal, wake))
        }
    }

    /// Who delivers the answer of a message; nil if nobody can.
    func sender(of message: PushMessage) -> (any AnswerSender)? { all.first { $0.sender.takes(message) }?.sender }

    /// Has each sender look for answers.
    func wake() { for sender in all { sender.wake.yield() } }
}

extension PushService {
    /// How many answers are read at once, 2 MiB with the largest payloads; and the most when some of them fail.
    private static let (answersAtOnce, mostAnswers) = (16, 1024)
    /// The longest pause before an answer is sent again.
    private static let longestPause = Duration.seconds(60)

    /// Delivers answers, those of an earlier process first, until the service stops.
    func startAnswering() -> [Task<Void, Never>] {
        let senders = answerSenders
        senders.wake()
        return senders.all.map { sender, signal, wake in
            start { [self] in await deliverAnswers(by: sender, signal, wake) }
        }
    }

    /// Delivers the answers of a sender at each signal; after a failure also after a growing pause, for which new ones
    /// do not wait.
    private func deliverAnswers(
        by sender: any AnswerSender, _ signal: AsyncStream<Void>, _ wake: AsyncStream<Void>.Continuation
    ) async {
        let first = (length: Duration.seconds(1), limit: Self.answersAtOnce)
        var (next, pauseEnd) = (first, clock.now)
        for await _ in signal {
            // Told once, not for each further attempt.
            guard let requested = await sendAnswers(sender, limit: next.limit, isTold: next == first) else {
                (next, pauseEnd) = (first, clock.now)
                continue
            }
            guard pauseEnd <= clock.now else { continue }
            let length = next.length + requested
            pauseEnd = clock.now.advanced(by: length)
            start { if await self.pause(length) { wake.yield() } }
            // So that those that fail do not keep those behind them.
            next = (min(next.length * 2, Self.longestPause), min(next.limit * 2, Self.mostAnswers))
        }
    }

    /// Delivers the answers of a sender, one after another, until none is left; if some are to be sent again, returns
    /// the longest pause that a server requests.
    private func sendAnswers(_ sender: any AnswerSender, limit: Int, isTold: Bool) async -> Duration? {
        while !Task.isCancelled {
            let answers: [UnsentAnswer]
            do { answers = try inbox.answers(of: sender.name, limit: limit) } catch {
                fails(.reading, "answers in the inbox could not be read: \(error)", isTold: isTold)
                return .zero
            }
            works(.reading)
            if answers.isEmpty { return nil }
            var failure: String?
            var requested = Duration.zero
            for answer in answers {
                do { try await send(answer, by: sender) } catch {
                    failure = failure ?? ErrorReport.text(error)
                    requested = max(requested, ErrorReport.requestedPause(error))
                }
            }
            guard let failure else { continue }
            // A device without a connection is not ill.
            if isTold, !Task.isCancelled {
                let what = "an answer could not be delivered, and is sent again: \(failure)"
                tell(.transport(sender.name, .ignored(what)))
            }
            return requested
        }
        return .zero
    }

    /// Delivers an answer and records that, or that it can never be delivered.
    private func send(_ answer: UnsentAnswer, by sender: any AnswerSender) async throws {
        do { try await sender.send(answer) } catch let refusal as AnswerRefused {
            tell(.transport(sender.name, .ignored("an answer can never be delivered: \(refusal)")))
        }
        guard await record([.answered(answer.id)]) else { throw CancellationError() }
    }
}
