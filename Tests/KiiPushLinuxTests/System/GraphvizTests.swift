import Testing

@testable import KiiPushLinux

struct GraphvizTests {
    @Test("a program that is not there is said to be, with the package to install")
    func missing() throws {
        let failure = #expect(throws: Graphviz.Failure.self) {
            try Graphviz.svg(of: "digraph { }", program: "no-program-of-this-name")
        }
        #expect(failure?.description.contains("install Debian's package graphviz") == true)
    }

    @Test("a program that fails, or draws nothing, is reported", arguments: ["/bin/false", "/bin/true"])
    func failing(program: String) throws {
        let failure = #expect(throws: Graphviz.Failure.self) {
            try Graphviz.svg(of: "digraph { }", program: program)
        }
        #expect(failure?.description.hasPrefix("Graphviz failed: ") == true)
    }
}
