import KiiPush
import KiiPushRules
import KiiPushTesting

/// One rule without conditions in a receiver of its own, and a payload for it.
struct TestedRule {
    let receiver: TestReceiver

    init(_ then: String, settings: String = #""me":["thing:th.1"],"#) throws {
        receiver = try TestReceiver(
            rules: RoutingRules(#"{"version":1,\#(settings)"rules":[{"id":"r","then":\#(then)}]}"#))
    }

    static let payload = #"""
        {"topic":"t","objectScopeType":"APP_AND_USER","objectScopeUserID":"u-1","sender":"u-2","when":1700000000033,
         "n":7,"s":"8","b":true,"zero":0,"null":null,"path":"../../users/u"}
        """#
}
