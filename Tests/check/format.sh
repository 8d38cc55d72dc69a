source "$(dirname "$0")/common.sh"

swift format lint --strict --recursive --parallel Package.swift Sources Tests Samples
