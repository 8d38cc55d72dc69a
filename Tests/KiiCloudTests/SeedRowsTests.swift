import Foundation
import Testing

/// What Kii's own guides say of sending and of handles, row by row, each with the test that shows it here.
@Suite("What Kii's guides say, and the tests that show it")
struct SeedRowsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let says: String
        let file: String
        let test: String

        init(_ says: String, _ file: String, _ test: String) { (self.says, self.file, self.test) = (says, file, test) }

        var testDescription: String { says }
    }

    static let sending = [
        Row(
            "data has strings, integers, doubles and booleans", "KiiCloudTests/Preview/PushPreviewTests.swift",
            "the guide's silent message to a group goes to three networks with all its data"),
        Row(
            "a silent notification has contentAvailable 1", "KiiCloudTests/Compose/MessageBodyTests.swift",
            "1 and 0 count as true and false where Kii's SDKs write them"),
        Row(
            "APNs fields: title, subtitle, body, category, mutable content",
            "KiiCloudTests/Preview/PushPreviewTests.swift", "every field of Apple's dictionary comes back"),
        Row(
            "to an app's topic only the developer sends, to a group's its members, to a user's the owner",
            "KiiCloudTests/Check/SendProblemTests.swift", "an ordinary push has no problem"),
        Row(
            "who has no right is refused", "KiiPushToolTests/SendTests.swift", "whoever has no right to send is told"),
        Row(
            "data for one network, with the others off", "KiiCloudTests/Preview/PushPreviewTests.swift",
            "the guide's message to a user's topic has its own data on APNs only"),
        Row(
            "the message with default keys", "KiiCloudTests/Preview/PushPreviewTests.swift",
            "the payload with default keys of Kii's guide is reproduced, value for value"),
        Row(
            "the message with its default keys suppressed", "KiiCloudTests/Preview/PushPreviewTests.swift",
            "the payload without them is reproduced, byte for byte"),
        Row(
            "suppressing s, scope, to and w saves bytes", "KiiCloudTests/Preview/PushPreviewTests.swift",
            "the guide's sample takes 200 bytes, and each suppression saves what stands in the guide's payload"),
        Row(
            "the same from the command line", "KiiPushToolTests/SendTests.swift",
            "the guide's message is one line, with its payload, its size and what each suppression saves"),
        Row(
            "sending is one call, which may fail", "KiiCloudTests/Client/KiiClientTests.swift",
            "a push with a problem is refused before anything is sent"),
        Row(
            "subscribers of the topic get it", "KiiCloudHTTPTests/CallTests.swift",
            "topics and subscriptions come and go, and a push reaches who subscribed"),
    ]

    static let handles = [
        Row(
            "the message contains a bucket, an object", "KiiPushTests/Message/HandleTests.swift",
            "a bucket needs a known scope with its id, and a name; an object its id too"),
        Row("the message contains a topic", "KiiPushTests/Message/HandleTests.swift", "a topic needs the same"),
        Row(
            "the scope is a group's, a user's or a thing's", "KiiPushTests/Message/HandleTests.swift",
            "user, group and thing are there only when the type says that scope and its id is there"),
        Row(
            "fields by their names", "KiiPushTests/Message/KiiReceivedMessageTests.swift",
            "getValueOfKiiMessageField has the times of numbers as text"),
        Row(
            "refresh the user, the group, the thing, the object, and then access it",
            "KiiCloudTests/Client/ConfirmedWriteTests.swift", "a handler reads what its message names"),
        Row(
            "the same from the command line", "KiiPushToolTests/Cloud/CloudCommandTests.swift",
            "refresh shows what there is now; what is gone is told"),
        Row(
            "a deleted object is gone", "KiiCloudTests/Answers/AnswerTests.swift",
            "a deleted object is an answer; a bucket that is not there is an error"),
        Row(
            "a handler that updates the subscribed bucket causes no loop",
            "KiiCloudTests/Client/HandlerWriteTests.swift",
            "a write's own event is dropped, and the object bears the handler's stamp"),
        Row(
            "nor does a rule", "KiiCloudTests/Rules/ClientRuleCloudTests.swift",
            "its own event is dropped, and a rule that writes the bucket it listens to ends"),
        Row(
            "unsubscribe each device from the bucket by REST", "KiiPushToolTests/Cloud/CloudCommandTests.swift",
            "unsubscribe ends the pushes of all of a list, and can be run again"),
    ]

    @Test("each row has a test of that name", arguments: sending + handles)
    func exists(row: Row) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: tests.appending(path: row.file), encoding: .utf8)
        #expect(text.contains("\"\(row.test)\""), "\(row.file) has no test '\(row.test)'")
    }
}
