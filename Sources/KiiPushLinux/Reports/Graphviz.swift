import Glibc
import KiiPushSystem

/// Runs Graphviz, if it is installed.
package enum Graphviz {
    /// Why there is no picture.
    package enum Failure: Error, CustomStringConvertible {
        /// There is no program `dot` on `PATH`.
        case notInstalled
        /// It could not be run, or failed.
        case failed(String)

        /// What is wrong, and how to fix it.
        package var description: String {
            switch self {
            case .notInstalled:
                "Graphviz's program 'dot' was not found; install Debian's package graphviz, or use --format dot or "
                    + "mermaid"
            case .failed(let why): "Graphviz failed: \(why); use --format dot and draw it elsewhere"
            }
        }
    }

    /// The time limit of a picture.
    private static let limit = Duration.seconds(120)

    /// The size limit of a picture.
    private static let mostBytes = 128 << 20

    /// Renders a graph as SVG; blocks while the program runs, at most two minutes.
    ///
    /// The program is started by its argument vector, without a shell; the graph and the picture are in a private
    /// temporary folder meanwhile.
    ///
    /// - Parameters:
    ///   - dot: the graph, in the DOT language.
    ///   - program: the program, a name on `PATH` or a path.
    /// - Returns: the picture's text, without a final line feed.
    /// - Throws: ``Failure``.
    package static func svg(of dot: String, program: String = "dot") throws(Failure) -> String {
        let folder = try ScratchFolder()
        try write(dot, to: folder.graph)
        let end: ChildProcess.End
        do throws(ErrorNumber) {
            end = try ChildProcess.run(program, ["-Tsvg", "-o", folder.picture, folder.graph], limit: limit)
        } catch {
            guard error.rawValue == ENOENT else { throw .failed("\(error)") }
            let problem = ProgramProblem.find(program)
            throw problem?.why.map { .failed("\(problem?.program ?? program): \($0)") } ?? .notInstalled
        }
        switch end {
        case .exited(0): break
        case .exited(127): throw .notInstalled
        case .exited(let code): throw .failed("it ended with \(code)")
        case .signaled(let signal): throw .failed("signal \(signal) ended it")
        case .timedOut: throw .failed("it took longer than two minutes")
        }
        do throws(ReadError) {
            let bytes = try ByteReader(path: folder.picture).readAll(limit: mostBytes)
            var text = String(decoding: bytes, as: UTF8.self)
            while text.utf8.last == UInt8(ascii: "\n") { text.removeLast() }
            return text
        } catch {
            throw .failed(error.description)
        }
    }

    private static func write(_ text: String, to path: String) throws(Failure) {
        let descriptor = retrying { unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw .failed("\(path): \(ErrorNumber.current)") }
        defer { close(descriptor) }
        do throws(ErrorNumber) { try writeAll(text, to: descriptor) } catch { throw .failed("\(path): \(error)") }
    }

    /// A folder for one picture, removed when it is released.
    private struct ScratchFolder: ~Copyable {
        let path: String

        var graph: String { path + "/graph.dot" }
        var picture: String { path + "/graph.svg" }

        init() throws(Failure) {
            let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
            var template = Array("\(parent)/kiipush-XXXXXX".utf8CString)
            guard unsafe mkdtemp(&template) != nil else { throw .failed("\(parent): \(ErrorNumber.current)") }
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit {
            unsafe unlink(graph)
            unsafe unlink(picture)
            unsafe rmdir(path)
        }
    }
}
