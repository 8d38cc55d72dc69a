import Testing

/// Waits until a condition holds, for as long as a loaded machine may need; what happens in other processes has no
/// other sign.
func eventually(
    _ what: String, within seconds: Double = 60, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while !condition() {
        guard ContinuousClock.now < end else {
            Issue.record("not within \(seconds) s: \(what)", sourceLocation: sourceLocation)
            throw CancellationError()
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
