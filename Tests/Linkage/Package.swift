// swift-tools-version: 6.2
import PackageDescription

// A program that links the core and nothing else, as an embedder's would; check.sh looks at what the loader finds.
let package = Package(
    name: "linkage",
    dependencies: [.package(name: "kii-push", path: "../..")],
    targets: [
        .executableTarget(name: "linkage", dependencies: [.product(name: "KiiPush", package: "kii-push")])
    ],
    swiftLanguageModes: [.v6]
)
