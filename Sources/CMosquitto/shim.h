#ifndef KIIPUSH_CMOSQUITTO_SHIM_H
#define KIIPUSH_CMOSQUITTO_SHIM_H

#if !__has_include(<mosquitto.h>)
#error "mosquitto.h is missing: install the Debian package libmosquitto-dev, or build without the trait MQTT"
#endif
#include <mosquitto.h>
#include <mqtt_protocol.h>

#if LIBMOSQUITTO_VERSION_NUMBER < 2000011
#error "mosquitto.h is too old: KiiPushMQTT needs libmosquitto 2.0.11 or newer, which Debian 12 has"
#endif

#endif
