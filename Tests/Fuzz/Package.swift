// swift-tools-version: 6.2
import PackageDescription

// One program for each entry point that a stranger's bytes reach, built for libFuzzer; run.sh builds and runs them.
let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "kii-push", path: "../..")],
    targets: ["FuzzDecode", "FuzzURI", "FuzzQuickBlox"].map { name in
        .executableTarget(name: name, dependencies: [.product(name: "KiiPushTesting", package: "kii-push")])
    },
    swiftLanguageModes: [.v6]
)
