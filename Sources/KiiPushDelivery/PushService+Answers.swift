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
        answerSenders.all.map { sender, signal, _ in
            start { [self] in
                await sendAnswers(sender)
                for await _ in signal { await sendAnswers(sender) }
            }
        }
    }

    /// Delivers the answers of a sender, one after another, until none is left; one that fails is sent again after a
    /// growing pause.
    private func sendAnswers(_ sender: any AnswerSender) async {
        var (length, limit) = (Duration.seconds(1), Self.answersAtOnce)
        while !Task.isCancelled {
            var failure: String?
            // Told once, not for each further attempt.
            let isFirst = limit == Self.answersAtOnce
            do {
                let answers = try inbox.answers(of: sender.name, limit: limit)
                works(.reading)
                if answers.isEmpty { return }
                for answer in answers {
                    do { try await send(answer, by: sender) } catch { failure = failure ?? ErrorReport.text(error) }
                }
                // A device without a connection is not ill.
                if let failure, isFirst, !Task.isCancelled {
                    let what = "an answer could not be delivered, and is sent again: \(failure)"
                    tell(.transport(sender.name, .ignored(what)))
                }
            } catch {
                failure = ErrorReport.text(error)
                fails(.reading, "answers in the inbox could not be read: \(error)", isTold: isFirst)
            }
            if failure == nil {
                (length, limit) = (.seconds(1), Self.answersAtOnce)
                continue
            }
            guard await pause(length) else { return }
            length = min(length * 2, Self.longestPause)
            // So that those that fail do not keep those behind them.
            limit = min(limit * 2, Self.mostAnswers)
        }
    }

    /// Delivers an answer and records that, or that it can never be delivered.
    private func send(_ answer: UnsentAnswer, by sender: any AnswerSender) async throws {
        do { try await sender.send(answer) } catch let refusal as AnswerRefused {
            tell(.transport(sender.name, .ignored("an answer can never be delivered: \(refusal)")))
        }
        guard await record(.answered(answer.id)) else { throw CancellationError() }
    }
}
