public import KiiPush

extension CloudRequest where Answer == Installation {
    /// Installs a device that gets its pushes over MQTT, for the token's owner, or for a thing.
    ///
    /// - Parameters:
    ///   - isDevelopment: whether it gets development pushes rather than production pushes.
    ///   - thing: the thing to install; nil for the token's owner.
    /// - Returns: the request.
    public static func install(isDevelopment: Bool, of thing: KiiThing? = nil) -> Self {
        let body = JSONWriter.object { writer in
            writer.member("deviceType", "MQTT")
            writer.member("development", isDevelopment)
            if let thing { writer.member("thingID", thing.id) }
        }
        let type = HTTPHeader("Content-Type", "application/vnd.kii.InstallationCreationRequest+json")
        return Self(.post, CloudPath(.app, "installations"), headers: [type], body: body) { response in
            try response.expect(201, 200)
            return Installation(id: try response.text("installationID", in: try response.members()))
        }
    }
}

extension CloudRequest where Answer == Bool {
    /// Removes an installation; the answer is false if it did not exist.
    public static func uninstall(_ installation: String) -> Self {
        Self(.delete, CloudPath(.app, "installations", installation)) {
            try $0.isDone(204, 200, no: .installationNotFound)
        }
    }
}

extension CloudRequest where Answer == MQTTEndpointAnswer {
    /// Requests the MQTT endpoint of an installed device.
    ///
    /// It is not ready right after the installation: ask again until it is.
    public static func mqttEndpoint(of installation: String) -> Self {
        Self(.get, CloudPath(.app, "installations", installation, "mqtt-endpoint")) { response in
            if response.status == 503 { return .notReady(retryAfter: response.error().retryAfter) }
            try response.expect(200)
            return .ready(try MQTTEndpoint(response))
        }
    }
}
