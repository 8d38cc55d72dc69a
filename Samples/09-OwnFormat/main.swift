import KiiPush

let receiver = PushReceiver(formats: .shipped.adding(KeyValueLines()))
receiver.onDirectPush(id: "temperatures", format: "lines", type: "temp") { reading, context in
    print("  \(reading.source ?? "?"), \(reading.subject ?? "?"): \(reading.data["value"]?.double ?? 0) degrees")
}
receiver.onDirectPush(id: "events", format: "cloudevents", type: "com.example.*") { event, context in
    print("  \(event.type ?? "?"): \(event.data)")
}

let payloads = [
    "id=17\nfrom=sensor-4\nkind=temp\nroom=cellar\nvalue=4.5\n",
    // The same message again: its source and id say so, whatever else differs.
    "id=17\nfrom=sensor-4\nkind=temp\nroom=cellar\nvalue=4.6\n",
    "id=18\nfrom=sensor-4\nkind=humidity\nroom=cellar\nvalue=61\n",
    "id=19\nfrom=sensor-4\nkind=temp\nroom\n",
    #"{"specversion":"1.0","id":"A-1","source":"/door","type":"com.example.door","data":{"open":true}}"#,
]
for payload in payloads {
    let outcome = await receiver.receive(RawPayload(payload, transport: .mqtt))
    print(outcome)
    if case .undecodable(let error) = outcome { print("  \(error)") }
}
