#!/bin/sh
# Runs Laurel with the Node that npm installed, or says what that Node lacks on this machine: its loader names only a file.
# Looks into the packages themselves: npm below 11.6 makes no node_modules/.bin/node (npm/cli#4362).
folder=$(dirname "$0")
for node in "$folder"/../node_modules/node-*/bin/node; do :; done
[ -e "$node" ] || node=node
if ! "$node" --version > /dev/null 2>&1; then
  echo "laurel: the Node 26 that npm installed does not start on this machine. It needs glibc, so not Alpine's musl, and libatomic: on Debian and Ubuntu, apt-get install libatomic1" >&2
  exit 69
fi
exec "$node" "$folder/laurel.js" "$@"
