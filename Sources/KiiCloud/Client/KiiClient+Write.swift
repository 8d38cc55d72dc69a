public import KiiPush

/// A write whose answer was lost, and about which the object does not tell either.
///
/// Read the object and decide again. The error contains no value of the object.
public struct UncertainWrite: ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// Makes the error, for transports and tests of handlers.
    public init() {}

    /// What is known, and how to proceed.
    public var description: String {
        "an answer was lost, so the write may or may not have happened; read the object again"
    }

    /// The same line.
    public var report: String { description }
}

extension KiiClient {
    /// Writes an object, and finds out whether the write happened if its answer is lost.
    ///
    /// If there is no answer, a write that cannot happen twice is retried after growing pauses: one that creates the
    /// object, or names a version. If Kii refuses it, since the object exists or has another version, the object is
    /// read: if it has what the write would have written, the write counts as a success, also if somebody else made
    /// it. Any other write is sent once, as by ``perform(_:)``.
    ///
    /// - Throws: ``UncertainWrite`` if an answer was lost and the object does not tell; otherwise the errors of
    ///   ``perform(_:)``. After any error except ``UncertainWrite`` and `CancellationError`, a write that cannot happen
    ///   twice has not happened.
    @discardableResult
    public func write(_ object: KiiObject, _ write: ObjectWrite) async throws -> Written {
        try await self.write(object, renewingAfter: nil) { write }
    }

    /// Writes an object with fields that are valid only for a while, such as a stamp.
    func write(
        _ object: KiiObject, renewingAfter age: Duration?, _ make: () throws -> ObjectWrite
    ) async throws -> Written {
        // The writes sent, in order; at most one per attempt, and one more for each stamp that grew too old.
        var made: [ObjectWrite] = []
        // Whether a request was sent and has no answer yet; whether an answer was lost, so that the write may have
        // happened.
        var (sent, isOut, hasLost) = (0, false, false)
        while true {
            do {
                return try await perform(renewingAfter: age, whileOut: { isOut = $0 }) {
                    let write = try make()
                    made.append(write)
                    return .writeObject(object, write)
                }
            } catch {
                guard made.last?.happensOnce == true, !(error is CancellationError) else { throw error }
                let answer = error as? CloudError
                let isConflict = answer?.isConflict == true
                if answer?.leavesOpen ?? (isOut && (error as? any TransportError)?.wasSent ?? true) { hasLost = true }
                // Otherwise the write certainly did not happen.
                guard isConflict || hasLost else { throw error }
                sent += 1
                if answer?.leavesOpen ?? true, sent < settings.attempts {
                    try await clock.sleep(for: settings.pause(behind: sent, jitter: .random(in: -1...1)))
                } else if let written = try await written(object, made) {
                    return written
                } else {
                    throw isConflict && !hasLost ? error : UncertainWrite()
                }
            }
        }
    }

    /// Reads an object, with retries if there is no answer; nil unless one of these writes produced its state.
    ///
    /// - Throws: ``UncertainWrite`` if it cannot be read.
    private func written(_ object: KiiObject, _ writes: [ObjectWrite]) async throws -> Written? {
        for sent in 1...settings.attempts {
            do {
                guard let record = try await refresh(object) else { return nil }
                return writes.last { $0.isDone(in: record) }.map { write in
                    Written(
                        object: object, isNew: write.creates, version: record.version, modifiedAt: record.modifiedAt)
                }
            } catch let error as CancellationError {
                throw error
            } catch is CloudError {
                break
            } catch {
                try await clock.sleep(for: settings.pause(behind: sent, jitter: .random(in: -1...1)))
            }
        }
        throw UncertainWrite()
    }
}

extension ObjectWrite {
    /// Whether the server performs it at most once, however often it is sent.
    fileprivate var happensOnce: Bool {
        switch self {
        case .create: true
        case .replace(_, let version), .patch(_, let version): version != nil
        }
    }

    fileprivate var creates: Bool {
        if case .create = self { true } else { false }
    }

    fileprivate func isDone(in record: ObjectRecord) -> Bool {
        switch self {
        case .create(let fields), .replace(let fields, _): record.fields == fields
        case .patch(let fields, _): fields.members.allSatisfy { record[$0.key] == $0.value }
        }
    }
}

extension CloudError {
    /// Whether the object conflicts with the write's condition; the write itself may have caused that.
    fileprivate var isConflict: Bool { code == .objectVersionIsStale || code == .objectAlreadyExists }

    /// Whether the answer leaves open if the write happened: a fault of the server, or of a proxy before it.
    fileprivate var leavesOpen: Bool { status >= 500 && status != 503 || code == .notUnderstood }
}
