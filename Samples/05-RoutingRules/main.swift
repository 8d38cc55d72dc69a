import Glibc
import KiiPush
import KiiPushRules
import KiiPushAgent

/// The rules, and a receiver that has just what they ask for.
func makeReceiver(_ path: String) throws -> PushReceiver {
    let rules = try RoutingRules(contentsOf: path)
    let receiver = PushReceiver(rules: rules)
    receiver.register("obey") { message, context in
        let names = DirectPushMessage(message)?.command?.actions.map(\.name) ?? []
        print("  obey: \(names.joined(separator: ", "))")
    }
    receiver.register("reload") { message, context in
        // The rule declares this write, so that lint knows of it; the announcement keeps its event from coming back.
        let state = KiiThing(id: "th.lamp").bucket("state")
        try await context.writing(state.object("current")) {
            print("  reload: \(message.object?.id ?? "no object")")
            return .done()
        }
    }
    receiver.register("compare") { message, context in print("  compare: \(message.object?.id ?? "no object")") }
    receiver.register("blink") { message, context in print("  blink") }
    receiver.register("show") { message, context in print("  show: \(message.data["text"]?.string ?? "")") }
    receiver.register("dim") { message, context in print("  dim: \(message.data["temp"]?.string ?? "") degrees") }
    // A rule without a handler fails here, with its line, and not at the first message.
    try receiver.load(rules)
    return receiver
}

let payloads = [
    RawPayload(#"{"commandID":"c-1","issuer":"user:U1","actions":[{"Lamp":[{"turnPower":true}]}]}"#, transport: .mqtt),
    RawPayload(
        """
        {"origin":"EVENT","bucketID":"settings","bucketType":"rw","type":"DATA_OBJECT_UPDATED","objectID":"o-1",\
        "when":1700000000000,"sender":"U1","appID":"0123abcd","objectScopeAppID":"0123abcd",\
        "objectScopeType":"APP_AND_USER","objectScopeUserID":"U1"}
        """, transport: .mqtt),
    RawPayload(
        """
        {"topic":"chat","text":"fire!","priority":"high","sender":"U2","when":1700000001000,\
        "objectScopeAppID":"0123abcd","objectScopeType":"APP_AND_GROUP","objectScopeGroupID":"kitchen"}
        """, transport: .fcm),
    RawPayload(#"{"topic":"alert-kitchen","temp":"31.5","sender":"th.oven","objectScopeType":"APP"}"#, transport: .fcm),
    RawPayload(#"{"topic":"alert-kitchen","temp":"29.5","sender":"th.oven","objectScopeType":"APP"}"#, transport: .fcm),
]

do {
    let receiver = try makeReceiver(CommandLine.arguments.dropFirst().first ?? "Samples/05-RoutingRules/rules.json")
    for payload in payloads {
        let outcome = await receiver.receive(payload)
        if case .handled(let routes) = outcome {
            print("handled by \(routes.ids.joined(separator: " and "))")
        } else {
            print(outcome)
        }
    }
} catch {
    print(error)
    exit(1)
}
