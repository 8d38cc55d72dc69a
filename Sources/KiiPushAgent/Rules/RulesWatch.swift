import KiiPush
package import KiiPushRules
import KiiPushSystem
import Synchronization

/// Keeps a running receiver's rules in step with a file: a changed file is loaded if it passes its checks.
///
/// It looks at the file's state by its path, so it notices when an editor, a deployment or another symbolic link
/// replaces the file. A missing, unreadable, partial or wrong file is reported and changes nothing. So
/// is a pipe, a device or a directory, for which it never waits.
package final class RulesWatch: Sendable {
    package let path: String

    private let gate: RulesGate
    private let report: @Sendable (RulesUpdate) -> Void
    /// The file's contents at the last check, or why it could not be read.
    private let last = Mutex<Contents?>(nil)
    private let lastCheck = Mutex<Task<Void, Never>?>(nil)
    private let seen = Mutex<FileStamp?>(nil)

    private enum Contents: Equatable {
        case bytes([UInt8])
        case unreadable(String)
    }

    /// Makes a watch; it reads nothing before the first check, and reports once for each change of the file.
    package init(
        path: String, gate: RulesGate, report: @escaping @Sendable (RulesUpdate) -> Void
    ) { (self.path, self.gate, self.report) = (path, gate, report) }

    /// Reads the file, and loads it if it has changed since the last check and passes its own checks.
    ///
    /// One check after another: a slow one must not load what it has read before a newer file.
    package func look() async {
        let check = lastCheck.withLock { last in
            let check = Task { [before = last] in
                await before?.value
                await self.check()
            }
            last = check
            return check
        }
        await check.value
    }

    private func check() async {
        let contents = read()
        // The state of a file may change without its contents.
        let isNew = last.withLock { last in
            defer { last = contents }
            return last != contents
        }
        guard isNew else { return }
        switch contents {
        case .bytes(let bytes): report(await gate.update(bytes, file: path))
        case .unreadable(let why):
            let start = SourcePosition(line: 1, column: 1)
            report(.refused([RulesError.Problem(file: path, position: start, what: why)]))
        }
    }

    private func read() -> Contents {
        do throws(ReadError) {
            return .bytes(try ByteReader(regularFile: path).readAll(limit: RoutingRules.mostBytes))
        } catch {
            return .unreadable(error.what)
        }
    }

    /// Whether the file's state has changed since the last call, so that a check is due; true at first.
    package func hasChanged() -> Bool {
        let stamp = FileStamp(path)
        return seen.withLock { seen in
            defer { seen = stamp }
            return seen.map { $0 != stamp } ?? true
        }
    }
}
