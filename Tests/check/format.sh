source "$(dirname "$0")/common.sh"

swift format lint --strict --recursive --parallel Package.swift Sources Tests Samples

# The formatter breaks code after 120 characters, and no comment.
long=$(git ls-files -z '*.swift' | LC_ALL=C.UTF-8 xargs -0 grep -nHP '^(?=.{121})\s*//' || [ $? -eq 123 ])
[ -z "$long" ] || fail "comments of more than 120 characters a line:"$'\n'"$long"
