import KiiCloud
import KiiCloudTesting

#if HTTP
import KiiCloudHTTP

/// Over libcurl, to a port of this machine where the cloud answers.
func connect(to cloud: TestCloud) throws -> (app: KiiApp, transport: any HTTPTransport) {
    var settings = CurlSettings()
    settings.usesPlainLoopback = true
    return (try TestCloudServer(cloud).app, try CurlTransport(settings))
}
#else

/// Without a network: the cloud is a transport by itself.
func connect(to cloud: TestCloud) throws -> (app: KiiApp, transport: any HTTPTransport) { (cloud.app, cloud) }
#endif
