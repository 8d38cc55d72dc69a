import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushContracts
import KiiPushAgent
import Synchronization

@testable import KiiPushTestSupport

/// The writing end of a lines transport's pipe.
final class LinesBench: TransportBench {
    let transport: any PushTransport
    let endsWhenCut = true
    private let pipe: Mutex<Pipe>

    init() throws {
        let pipe = try Pipe()
        transport = LinesTransport(descriptor: pipe.readEnd)
        self.pipe = Mutex(pipe)
    }

    func send(_ payloads: [[UInt8]]) {
        pipe.withLock { $0.write(payloads.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()) }
    }

    func answers() -> TransportAnswers { TransportAnswers() }

    func cut() { pipe.withLock { $0.endInput() } }
}

/// A client of a socket transport.
final class SocketBench: TransportBench {
    let transport: any PushTransport
    let endsWhenCut = false
    private let folder: Folder
    private let state = Mutex(State())

    private struct State {
        var peer: SocketPeer?
        var heard = TransportAnswers()
    }

    init() throws {
        let folder = try Folder()
        self.folder = folder
        transport = SocketTransport(path: folder["s"], answerAfter: .milliseconds(20))
    }

    func send(_ payloads: [[UInt8]]) async throws {
        let text = payloads.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        var failure: (any Error)?
        let isSent = await comes {
            state.withLock { state in
                do { state.peer = try state.peer ?? SocketPeer(folder["s"]) } catch { failure = error }
                state.peer?.send(text)
                return state.peer != nil
            }
        }
        if !isSent, let failure { throw failure }
    }

    func answers() -> TransportAnswers {
        state.withLock { state in
            while let answer = state.peer?.answerIfAny() {
                if answer.contains(#""disposition":"retryLater""#) {
                    state.heard.refused += 1
                } else {
                    state.heard.acknowledged += 1
                }
            }
            return state.heard
        }
    }

    func cut() {
        state.withLock { state in
            state.peer?.hangUp()
            state.peer = nil
        }
    }
}
