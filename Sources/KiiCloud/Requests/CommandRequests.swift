public import KiiPush

/// The result of one action of a Thing-IF command.
public struct ActionResult: Sendable, Hashable {
    /// The action.
    public let action: ThingCommand.Action
    /// Whether the action succeeded.
    public let isDone: Bool
    /// The reason of a failure, for people.
    public let errorMessage: String?

    /// An action that succeeded.
    public static func done(_ action: ThingCommand.Action) -> ActionResult {
        ActionResult(action: action, isDone: true, errorMessage: nil)
    }

    /// An action that failed.
    public static func failed(_ action: ThingCommand.Action, _ errorMessage: String) -> ActionResult {
        ActionResult(action: action, isDone: false, errorMessage: errorMessage)
    }
}

extension CloudRequest where Answer == Void {
    /// Reports the results of a command's actions, one for each and in their order, as the thing that received it.
    public static func report(_ results: [ActionResult], of command: ThingCommand, as thing: KiiThing) -> Self {
        // In the command's dialect: adjacent results of one alias are grouped.
        var groups: [(alias: String?, results: [DataValue])] = []
        for result in results {
            if let alias = result.action.alias, groups.last?.alias?.isExactly(alias) == true {
                groups[groups.count - 1].results.append(result.value)
            } else {
                groups.append((result.action.alias, [result.value]))
            }
        }
        let values = groups.flatMap { alias, results in
            alias.map { [DataValue.object([(key: $0, value: .array(results))])] } ?? results
        }
        let body = DataValue.object([(key: "actionResults", value: .array(values))]).jsonText
        let path = CloudPath(command: command.id, of: thing).appending("action-results")
        return Self(.put, path, headers: [.json], body: body) { _ = try $0.fields(204, 200) }
    }
}

extension ActionResult {
    fileprivate var value: DataValue {
        var result: [(key: String, value: DataValue)] = [("succeeded", .bool(isDone))]
        if let errorMessage { result.append(("errorMessage", .string(errorMessage))) }
        return .object([(action.name, .object(result))])
    }
}
