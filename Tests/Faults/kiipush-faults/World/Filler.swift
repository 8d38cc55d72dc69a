import Glibc

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
