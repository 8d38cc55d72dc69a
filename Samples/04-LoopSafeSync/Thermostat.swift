import KiiPush
import KiiPushTesting

/// Keeps the target of a thermostat within what the heating can do, in half degrees, whoever wrote it.
///
/// It writes to the very object that it is called for, and since it also says who wrote, each write is a change: Kii
/// pushes it to every device, and each of them does the same.
enum Thermostat {
    static let object = KiiUser(id: "U-home").bucket("thermostats").object("hall")

    /// The half degree nearest to a text's number, from 5 to 30.
    static func normalised(_ target: DataValue?) -> DataValue {
        let halves = ((target?.double ?? 20) * 2).rounded()
        return .number("\(min(max(halves / 2, 5), 30))")
    }

    /// The handler as it should be: it goes on with the object's lineage, and announces its write.
    static func addHandler(to receiver: PushReceiver, of device: SimulatedDevice) {
        receiver.onPushToApp(id: "thermostat", bucket: "thermostats", object: "*") { event, context in
            guard var fields = device.cloud.fields(of: event.object) else { return }
            let context = try context.continuing(fields: fields)
            fields["target"] = normalised(fields["target"])
            fields["by"] = .string(device.identity.id)
            context.stamp(&fields)
            try await context.writing(event.object) { .done(modifiedAt: try device.put(event.object, fields)) }
        }
    }

    /// The same without a care: no announcement, no stamp.
    static func addCarelessHandler(to receiver: PushReceiver, of device: SimulatedDevice) {
        receiver.onPushToApp(id: "thermostat", bucket: "thermostats", object: "*") { event, _ in
            guard var fields = device.cloud.fields(of: event.object) else { return }
            fields["target"] = normalised(fields["target"])
            fields["by"] = .string(device.identity.id)
            try device.put(event.object, fields)
        }
    }
}
