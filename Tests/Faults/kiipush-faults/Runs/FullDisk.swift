import Glibc

/// Runs an agent on a small disk, and fills it up while messages come.
struct FullDisk {
    var program = Program.own
    let isLong: Bool
    /// How large the disk is; on three the log of the database alone would fill it.
    var megabytes = 16

    /// The row; nil where no disk can be mounted, which takes root.
    func row() throws -> Row? {
        let broker = try Broker()
        let session = try Session(broker, "full", program: program)
        mkdir(session.state, 0o700)
        guard mount("none", session.state, "tmpfs", 0, "size=\(megabytes)m,mode=700") == 0 else { return nil }
        defer { umount2(session.state, Int32(MNT_DETACH)) }
        try session.subscribe()
        if case .own = program { session.options = ["--pause", "1"] }
        try session.run()
        // One that finds the disk full when it starts ends and says so, which is not what is asked here.
        try wait(for: "the agent is connected again") { session.connections > 1 }
        let count = isLong ? 20 : 3
        let filler = Filler(path: "\(session.state)/filler")
        for number in 1...count {
            session.publisher.publish(300)
            usleep(UInt32.random(in: 0...40_000))
            filler.fill(leaving: Int.random(in: 0...40_000))
            session.publisher.publish(700)
            try session.publisher.settle()
            try wait(for: "the agent notices the full disk") {
                session.log.ranges(of: "no room is left").count >= number
            }
            filler.remove()
            // All has to be handled before the next time, or the log would tell of this one.
            try wait(for: "the agent goes on") { try session.handled() == session.publisher.asked }
        }
        var row = try session.finish("really full disk of \(megabytes) MB (\(program.name))")
        row.runs = count
        return row
    }
}

/// A file that takes all the room of a small disk.
struct Filler {
    let path: String

    /// Writes until there is no more room, and gives some back.
    func fill(leaving rest: Int) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let bytes = [UInt8](repeating: 1, count: 4096)
        var size = 0
        while true {
            let count = write(file, bytes, bytes.count)
            guard count > 0 else { break }
            size += count
        }
        ftruncate(file, max(size - rest, 0))
    }

    /// Gives all of it back.
    func remove() { unlink(path) }
}
