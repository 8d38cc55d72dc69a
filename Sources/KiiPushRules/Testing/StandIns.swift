import KiiCloud
package import KiiPush
import Synchronization

/// Simulates Kii's cloud in a test: records the rules' actions, and keeps the fields that they write.
final class StandInCloud: Sendable {
    private struct State {
        var objects: [KiiURI: KeyedData] = [:]
        var actions: [UInt64: [CloudAction]] = [:]
    }

    private let state = Mutex(State())

    /// Removes and returns the actions for a message.
    func takeActions(for id: UInt64) -> [CloudAction] { state.withLock { $0.actions.removeValue(forKey: id) ?? [] } }

    /// Performs an action, announced as a real one is; skips one that changes nothing.
    func perform(_ action: CloudAction, _ context: HandlerContext) throws {
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

/// Passes rules' cloud actions to the simulated cloud of the test that sent the message.
private struct StandInCalls: RuleCloud {
    func perform(_ action: CloudAction, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context.messageID, context.route)
        try HarnessWork.current?.cloud.perform(action, context)
    }
}

/// Replaces programs, printing and cloud calls of rules: does nothing, and fails where a test says so.
private struct StandInActions: RuleActions {
    var cloud: (any RuleCloud)? { StandInCalls() }

    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context.messageID, context.route)
    }

    func print(_ message: PushMessage, _ context: HandlerContext) async throws {
        try HarnessWork.failurePoint(context.messageID, context.route)
    }
}

extension PushReceiver {
    /// Loads rules with a stand-in for each handler, which does nothing, and fails where a test says so.
    package func loadStandIns(_ rules: RoutingRules) throws(RulesError) {
        for case .handler(let name) in rules.rules.map(\.action) {
            register(name) { _, context in try HarnessWork.failurePoint(context.messageID, name) }
        }
        // No test knows a secret.
        try load(rules, StandInActions(), .none)
    }
}
