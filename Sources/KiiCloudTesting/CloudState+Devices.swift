import KiiCloud
import KiiPush

// Installed devices and their endpoints.
extension CloudState {
    mutating func install(_ fields: KeyedData) -> HTTPResponse {
        guard fields["deviceType"] == "MQTT", fields["development"]?.bool != nil else {
            return .refusal(400, "MISSING_DATA")
        }
        let id = nextID("installation")
        devices.insert(id)
        return .of(
            201, ["installationID": .string(id), "installationRegistrationID": .string(nextID("registration"))])
    }

    mutating func endpoint(of id: String) -> HTTPResponse {
        guard devices.contains(id) else { return .refusal(404, "INSTALLATION_NOT_FOUND") }
        if endpointDelays > 0 {
            endpointDelays -= 1
            return .refusal(503, "MQTT_ENDPOINT_NOT_READY", wait: 0)
        }
        return .of(
            200,
            [
                "installationID": .string(id), "username": .string("name-\(id)"),
                "password": .string("password-\(id)"), "mqttTopic": .string("topic-\(id)"),
                "host": "mqtt.cloud.test", "portTCP": 1883, "portSSL": 8883, "X-MQTT-TTL": 2_147_483_647,
            ])
    }
}
