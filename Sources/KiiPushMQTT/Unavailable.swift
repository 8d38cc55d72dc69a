#if !MQTT
/// Receives pushes from an MQTT broker; not available in this build.
@available(*, unavailable, message: "enable the trait MQTT of kii-push, and install Debian's libmosquitto-dev")
public enum MQTTTransport {}
#endif
