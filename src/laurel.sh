#!/bin/sh
# Runs Laurel with the Node that npm installed. If that Node does not start, prints the cause: the loader names only a file.
# Searches the packages themselves: npm below 11.6 creates no node_modules/.bin/node (npm/cli#4362).
# LAUREL_NODE names another Node, such as one with a security fix that npm's packages do not have yet.
# In an installed package this file is started through a link, and npm puts the other packages beside Laurel's or below it.
program=$0
[ ! -L "$program" ] || program=$(readlink -f "$program")
folder=$(dirname "$program")
node=node
for found in "$folder"/../../node-*/bin/node "$folder"/../node_modules/node-*/bin/node; do
  [ ! -e "$found" ] || node=$found
done
[ -z "$LAUREL_NODE" ] || node=$LAUREL_NODE
if ! words=$("$node" --version 2>&1); then
  if ! command -v "$node" > /dev/null; then
    [ -z "$LAUREL_NODE" ] || { echo "laurel: LAUREL_NODE is $node, which is no program" >&2; exit 69; }
    fault="there is no Node: npm ci installs it, without --omit=optional, on Linux and macOS with x64 or arm64"
  else
    case "$words" in
      *libatomic*) fault="Node needs libatomic: on Debian and Ubuntu, apt-get install libatomic1; on Fedora, dnf install libatomic" ;;
      *GLIBC_*) fault="Node needs glibc 2.28 or newer, and this machine has an older one" ;;
      *"shared libraries"*) fault="Node lacks a library on this machine: $words" ;;
      # The file is there, but not the loader that it names.
      *"not found"* | *"No such file"*) fault="Node needs glibc, which this machine lacks: Alpine's musl is not supported" ;;
      *) fault="Node does not start on this machine: $words" ;;
    esac
  fi
  echo "laurel: $fault" >&2
  exit 69
fi
# LMDB allocates 3.5 MiB for each database and uses little of it. From this size on, glibc maps a block as pages of its own, which
# cost no memory until they are used. Without this setting, glibc raises the size with each large block that is freed.
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-524288}"
unset LAUREL_NODE
exec "$node" "$folder/laurel.js" "$@"
