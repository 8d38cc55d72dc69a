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

    @Test("returns members in order, with whole values")
    func members() {
        let text = #" { "a" : 1 , "\u0062" : "x\ty" , "c" : { "d" : [ 2 ] } , "" : null } "#
        #expect(names(text) == ["a=1", "b=x\ty", #"c={ "d" : [ 2 ] }"#, "=null"])
        #expect(names(#"[{"a":{"b":1}}]"#, at: 1) == [#"a={"b":1}"#])
        #expect(names(#"[{"a":{"b":1}}]"#, at: 6) == ["b=1"])
        #expect(names("{}") == [] && names(" { } ") == [])
    }

    @Test("a value that is not an object has no members")
    func noObject() {
        for text in ["", "[]", "1", "\"a\"", "null"] { #expect(names(text) == []) }
    }

    @Test("elements come in order")
    func elements() {
        let text = #"x[ 1 ,"a]",[2,[3]],{"b":[4]}, null ]"#
        #expect(elements(text, at: 2) == ["1", "a]", "[2,[3]]", #"{"b":[4]}"#, "null"])
        #expect(elements("[ ]", at: 1) == [] && elements("[]", at: 1) == [])
    }

    @Test("continues after an array's end")
    func behind() {
        let text = "[[1],[],2]"
        var reader = JSONReader(at: 2, limits: .checked)
        let isThere = reader.nextElement(text.utf8.span, isFirst: true)
        _ = try? reader.readValue(text.utf8.span, depth: 0)
        let isMore = reader.nextElement(text.utf8.span, isFirst: false)
        #expect(isThere && !isMore && reader.offset == 4)
    }

    /// The elements of the array whose opening bracket stands before `offset`.
    private func elements(_ text: String, at offset: Int) -> [String] {
        var reader = JSONReader(at: offset, limits: .checked)
        var found: [String] = []
        while reader.nextElement(text.utf8.span, isFirst: found.isEmpty) {
            guard let element = try? reader.readValue(text.utf8.span, depth: 0) else { break }
            found.append(element.string(in: text.utf8.span))
        }
        return found
    }
}
