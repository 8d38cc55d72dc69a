import KiiPush

/// What a message costs when one core takes messages and when two do.
///
/// It is the time from the first one's start to the last one's end, over all messages: half of one core's is the best
/// that two can do.
func coreStages(_ options: Options) async throws -> [Row] {
    let shared = readingReceiver()
    let own = (readingReceiver(), readingReceiver())
    var source = Payloads()
    let count = 2000
    var times: [[Double]] = [[], [], []]
    for _ in 0..<options.rounds {
        let payloads = (source.next(count), source.next(count))
        times[0].append(
            await time(2 * count) {
                await receive(payloads.0, shared)
                await receive(payloads.1, shared)
            })
        let more = (source.next(count), source.next(count))
        times[1].append(
            await time(2 * count) {
                async let one: Void = receive(more.0, shared)
                async let other: Void = receive(more.1, shared)
                _ = await (one, other)
            })
        let most = (source.next(count), source.next(count))
        times[2].append(
            await time(2 * count) {
                async let one: Void = receive(most.0, own.0)
                async let other: Void = receive(most.1, own.1)
                _ = await (one, other)
            })
    }
    let handled = [shared, own.0, own.1].map { $0.metrics.count("handled") }
    let sent = options.rounds * count
    try check(handled == [4 * sent, sent, sent], "every message handled")
    return [
        Row("whole, one task", times[0]), Row("whole, two tasks, one receiver", times[1]),
        Row("whole, two tasks, two receivers", times[2]),
    ]
}

@concurrent
private func receive(_ payloads: [RawPayload], _ receiver: PushReceiver) async {
    for payload in payloads { use(await receiver.receive(payload)) }
}

private func time(_ messages: Int, _ body: () async -> Void) async -> Double {
    let start = ContinuousClock.now
    await body()
    return start.duration(to: .now).nanoseconds / Double(messages)
}
