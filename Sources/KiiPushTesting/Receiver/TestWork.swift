public import KiiPush
import KiiPushRules
import Synchronization

/// One piece of work that a test gives a receiver: what came of it, and which handlers are to fail.
///
/// Bound to the task, so that work of other tests at the same time never mixes with it, and whatever the handlers
/// themselves send into the receiver belongs to it.
final class TestWork: Sendable {
    @TaskLocal static var current: TestWork?

    let failures: PlannedFailures
    private let ended = Mutex<[Trace]>([])

    init(_ failures: PlannedFailures) { self.failures = failures }

    var traces: [Trace] { ended.withLock { $0 } }

    func add(_ trace: Trace) { ended.withLock { $0.append(trace) } }
}

/// Which handlers fail, message by message: one that is held fails when its turn comes.
final class PlannedFailures: Sendable {
    private let plans = Mutex<[UInt64: FailingHandlers]>([:])

    var isEmpty: Bool { plans.withLock { $0.isEmpty } }

    func plan(_ id: UInt64, _ handlers: FailingHandlers) {
        guard handlers != .none else { return }
        plans.withLock { $0[id] = handlers }
    }

    func forget(_ id: UInt64) { plans.withLock { _ = $0.removeValue(forKey: id) } }

    func has(_ id: UInt64, _ handler: String) -> Bool { plans.withLock { $0[id]?.contain(handler) ?? false } }
}

/// The handlers that a test lets fail: `["reload"]`, `.all` or `.none`.
public struct FailingHandlers: Sendable, Hashable, ExpressibleByArrayLiteral {
    private let names: [String]
    private let isAll: Bool

    private init(_ names: [String], isAll: Bool) {
        self.names = names
        self.isAll = isAll
    }

    /// Those of these names: what rules call a handler by, else the id of its route.
    public init(_ names: [String]) { self.init(names, isAll: false) }

    /// Those of these names.
    public init(arrayLiteral names: String...) { self.init(names) }

    /// Every handler.
    public static let all = FailingHandlers([], isAll: true)

    /// No handler.
    public static let none = FailingHandlers([])

    func contain(_ name: String) -> Bool { isAll || names.contains { $0.utf8.elementsEqual(name.utf8) } }
}

/// A handler failed since a test told it to.
public struct InjectedFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The handler, by the name that rules call it by, else by its route's id.
    public let handler: String

    /// The failure in words.
    public var description: String { "the test told '\(handler)' to fail" }

    /// Fails if the test that sent the message told the handler to; does nothing outside of a ``TestReceiver``.
    ///
    /// For handlers of your own: call it where the handler could fail, with its context. Handlers that a
    /// ``TestReceiver`` makes of rules do so by themselves.
    ///
    /// ```swift
    /// receiver.onPushToApp("settings", bucket: "settings") { event, context in
    ///     try InjectedFailure.point(context)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - context: what the handler was told.
    ///   - name: the handler's name; its route's id when it is left out.
    /// - Throws: ``InjectedFailure``.
    public static func point(_ context: HandlerContext, name: String? = nil) throws {
        let name = name ?? context.route
        if TestWork.current?.failures.has(context.messageID, name) == true { throw InjectedFailure(handler: name) }
    }
}

/// Stands in for the programs and the printing that rules ask for: does nothing, and fails where a test says so.
struct StandInActions: RuleActions {
    func run(_ arguments: [String], for message: PushMessage, _ context: HandlerContext) async throws {
        try InjectedFailure.point(context)
    }

    func print(_ message: PushMessage, _ context: HandlerContext) async throws { try InjectedFailure.point(context) }
}

extension PushReceiver {
    /// Loads rules with a stand-in for each handler, which does nothing, and fails where a test says so.
    func loadStandIns(_ rules: RoutingRules) throws(RulesError) {
        for case .handler(let name) in rules.rules.map(\.action) {
            register(name) { _, context in try InjectedFailure.point(context, name: name) }
        }
        try load(rules, actions: StandInActions())
    }
}
