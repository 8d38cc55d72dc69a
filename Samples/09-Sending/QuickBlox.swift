import KiiPush
import KiiPushTesting

/// The messages of QuickBlox's reference: what a sender puts into `event.message`, and what a device makes of it.
func showQuickBlox() {
    let events: [(String, QuickBloxEvent)] = [
        (
            "for iOS",
            .ios(
                json:
                    #"{"aps":{"alert":"You got your emails.","badge":9,"sound":"bingbong.aiff"},"acme1":"bar","acme2":42}"#
            )
        ),
        ("for Android", .android([.init("message", "I love M&M's! Especially red one!")])),
        ("for all, a text", .text("I love M&M's! Especially red one!")),
        (
            "for all, with parameters",
            .json(#"{"message":"Message received from Bob","ios_badge":5,"ios_sound":"mysound.wav","user_id":"234"}"#)
        ),
    ]
    for (name, event) in events {
        print("\nQuickBlox, \(name)")
        print("  event.message=\(event.encoded)")
        guard let message = try? PushMessage(RawPayload(event.encoded, transport: .quickblox)) else {
            print("  cannot be read")
            continue
        }
        let badge = message.aps?.badge.map { ", badge \($0)" } ?? ""
        let data = message.data.members.map { "\($0.key) = \($0.value.string ?? "")" }.joined(separator: ", ")
        print("  a device shows: \(message.alert?.body ?? "nothing")\(badge)")
        print("  data: \(data)")
    }
}
