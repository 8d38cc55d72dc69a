import KiiPushAgent

struct Progress {
    private let file: String
    private let total: Int
    private let noun: String
    private let console: Console
    private let clock = ContinuousClock()
    private var done = 0
    private var next: ContinuousClock.Instant
    private var isShown = false

    init(
        _ file: String, _ total: Int, _ console: Console, of noun: String = "tests",
        after patience: Duration = .milliseconds(500)
    ) {
        self.file = file
        self.total = total
        self.noun = noun
        self.console = console
        // Most runs end before anybody could read it.
        next = clock.now.advanced(by: patience)
    }

    /// Counts one step; the display changes at most ten times a second.
    mutating func step() {
        done += 1
        guard let progress = console.progress, clock.now >= next else { return }
        progress("\r\(escaped(file)): \(done) of \(total) \(noun)\u{1B}[K")
        isShown = true
        next = clock.now.advanced(by: .milliseconds(100))
    }

    /// Clears the display, before other output and at the end.
    mutating func clear() {
        if isShown { console.progress?("\r\u{1B}[K") }
        isShown = false
    }
}
