import Testing

@testable import KiiPush

struct JSONContainersTests {
    private func names(_ text: String, at offset: Int = 0) -> [String] {
        var members = ObjectMembers(text.utf8.span, at: offset)
        var names: [String] = []
        while let (key, value) = members.next(text.utf8.span) {
            names.append(key.string(in: text.utf8.span) + "=" + value.string(in: text.utf8.span))
        }
        return names
    }

    @Test("members come in order, with their values whole")
    func members() {
        let text = #" { "a" : 1 , "\u0062" : "x\ty" , "c" : { "d" : [ 2 ] } , "" : null } "#
        #expect(names(text) == ["a=1", "b=x\ty", #"c={ "d" : [ 2 ] }"#, "=null"])
        #expect(names(#"[{"a":{"b":1}}]"#, at: 1) == [#"a={"b":1}"#])
        #expect(names(#"[{"a":{"b":1}}]"#, at: 6) == ["b=1"])
        #expect(names("{}") == [] && names(" { } ") == [])
    }

    @Test("what is no object has no members")
    func noObject() {
        for text in ["", "[]", "1", "\"a\"", "null"] { #expect(names(text) == []) }
    }

    @Test("elements come in order")
    func elements() {
        let text = #"x[ 1 ,"a]",[2,[3]],{"b":[4]}, null ]"#
        var elements = ArrayElements(text.utf8.span, at: 1)
        var found: [String] = []
        while let element = elements.next(text.utf8.span) { found.append(element.string(in: text.utf8.span)) }
        #expect(found == ["1", "a]", "[2,[3]]", #"{"b":[4]}"#, "null"])
        var none = ArrayElements("[ ]".utf8.span, at: 0)
        let first = none.next("[ ]".utf8.span)
        #expect(first == nil)
    }
}
