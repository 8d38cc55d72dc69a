/// Uses what lies above it: the check of the folders has to see that.
struct Lower {
    var upper: Upper?
}
