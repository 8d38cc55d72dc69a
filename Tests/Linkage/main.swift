import KiiPush

let message = try PushMessage(RawPayload(#"{"topic":"news"}"#))
print(message.kind)
