# Sourced by the check scripts after `cd` to the root: a command that ends a script is named, with
# its line. Where a script ends by itself it says why, or its output does.
set -Eeuo pipefail

# A subshell is silent: the command that started it decides whether its failure matters.
trap 'status=$?; [ "$BASH_SUBSHELL" != 0 ] ||
  echo "error: ${BASH_SOURCE[0]}, line $LINENO: ended with $status: $BASH_COMMAND" >&2' ERR
