import KiiCloud
package import KiiPush
import Synchronization

/// Stands in for Kii's cloud in a test, and knows which handlers are to fail.
///
/// Records the rules' actions, and keeps the fields that they write.
final class StandIns: Sendable {
    private struct State {
        var objects: [KiiURI: KeyedData] = [:]
        /// The actions, and the handlers that are to fail, by message.
        var actions: [UInt64: [CloudAction]] = [:]
        var failing: [UInt64: [String]] = [:]
    }

    private let state = Mutex(State())

    /// Makes these handlers fail for a message.
    func plan(_ id: UInt64, _ handlers: [String]) { state.withLock { $0.failing[id] = handlers } }

    /// Whether a handler is to fail for a message.
    fileprivate func fails(_ id: UInt64, _ handler: String) -> Bool {
        state.withLock { $0.failing[id]?.containsExactly(handler) == true }
    }

    /// Removes and returns the actions for a message, which has ended.
    func takeActions(for id: UInt64) -> [CloudAction] {
        state.withLock { state in
            state.failing[id] = nil
            return state.actions.removeValue(forKey: id) ?? []
        }
    }

    /// Performs an action, announced as a real one is; skips one that changes nothing.
    fileprivate func perform(_ action: CloudAction, _ context: HandlerContext) throws {
        guard changesSomething(action) else { return }
        if case .write(let uri, let fields, let replaces) = action, let object = uri.object {
            let announced = try context.willWrite(object)
            state.withLock { state in
                let old = replaces ? [:] : state.objects[uri] ?? [:]
                state.objects[uri] = old.merging(fields)
            }
            announced.done()
        }
        state.withLock { $0.actions[context.messageID, default: []].append(action) }
    }

    private func changesSomething(_ action: CloudAction) -> Bool {
        guard case .write(let uri, let fields, let replaces) = action else { return true }
        guard let old = state.withLock({ $0.objects[uri] }) else { return true }
        return replaces ? fields != old : fields.members.contains { old[$0.key] != $0.value }
    }
}

/// One action of a test on a receiver, with its results.
///
/// Bound to the task, so that it never mixes with other tests that run at the same time, and includes whatever the
/// handlers themselves send to the receiver.
final class HarnessWork: Sendable {
    @TaskLocal static var current: HarnessWork?

    let standIns: StandIns
    private let ended = Mutex<[Trace]>([])

    init(_ standIns: StandIns) { self.standIns = standIns }

    var traces: [Trace] { ended.withLock { $0 } }

    func add(_ trace: Trace) { ended.withLock { $0.append(trace) } }

    /// Throws if the test makes this handler fail for the message; does nothing outside of a test.
    fileprivate static func failurePoint(_ context: HandlerContext, _ handler: String) throws {
        if current?.standIns.fails(context.messageID, handler) == true { throw StandInFailure(handler: handler) }
    }
}

/// A stand-in failed because a test asked for it.
struct StandInFailure: Error, CustomStringConvertible {
    let handler: String

    var description: String { "the test made '\(handler)' fail" }
}

/// Replaces programs, printing and cloud calls of rules: does nothing but what ``StandIns`` do, and fails where a test
/// says so, or where the agent would fail before it sends anything.
private struct StandInActions: RuleActions, RuleCloud {
    /// The app of the rules; nil for any.
    let app: String?

    var cloud: (any RuleCloud)? { self }

    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context, context.route)
    }

    func print(_ message: PushMessage, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context, context.route)
    }

    func perform(_ action: CloudAction, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context, context.route)
        try CloudCall(action, app: app).check(app: app, context)
        try HarnessWork.current?.standIns.perform(action, context)
    }
}

extension PushReceiver {
    /// Loads rules with a stand-in for each program, print, cloud action, and handler that is not registered, which
    /// does nothing, and fails where a test says so.
    ///
    /// - Returns: the names of the stand-ins.
    @discardableResult
    package func loadStandIns(_ rules: RoutingRules) throws(RulesError) -> [String] {
        let own = handlerNames
        let replaced = rules.rules.filter { rule in
            if case .handler(let name) = rule.action { !own.contains(ExactText(name)) } else { true }
        }
        for case .handler(let name) in replaced.map(\.action) {
            register(name) { _, context in try HarnessWork.failurePoint(context, name) }
        }
        // No test knows a secret.
        try load(rules, StandInActions(app: rules.app), .none)
        return replaced.map(\.handlerName)
    }
}
