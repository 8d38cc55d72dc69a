// What a person who inspects a payload should know, beyond its classification.

extension PushMessage {
    /// Keys that are not where they are read, and times in another unit, each in one sentence.
    package var hints: [String] {
        let times = [(KiiField.when, sentAt), (.objectModifiedAt, modifiedAt)].compactMap { field, time in
            time?.probableUnit.map { unit in
                "'\(dialect.hasShortKeys ? field.shortName : field.longName)' is probably in \(unit); it is due in "
                    + "milliseconds since 1970"
            }
        }
        return (MisplacedKeys.hint(self).map { [$0] } ?? []) + times
    }

    /// The ids of owners that the scope's type does not have.
    package var unusedFields: [KiiField] {
        guard storage.fields.present.contains(.scopeType) else { return [] }
        let stated = storage.fields.present.intersection(.scopeOwners)
        let used = storage.classified.scopeKind.ownerField
        return KiiField.inOrder.filter { stated.contains($0) && $0 != used }
    }
}
