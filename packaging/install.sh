#!/bin/sh
# Installs this archive for all users (as root) or for yourself, without a package manager.
#   ./install.sh                 to /opt/assay and /usr/local/bin, or to ~/.local/share/assay and ~/.local/bin
#   ./install.sh --prefix DIR    to DIR/share/assay and DIR/bin
#   ./install.sh --remove [--prefix DIR]
set -eu

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
prefix='' remove=false
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] || fail "--prefix needs a folder"
        prefix=$2
        shift 2
        ;;
    --remove)
        remove=true
        shift
        ;;
    -h | --help)
        sed -n '2,5s/^# *//p' "$0"
        exit 0
        ;;
    *) fail "unknown option $1; see --help" ;;
    esac
done

if [ -n "$prefix" ]; then
    home=$prefix/share/assay bin=$prefix/bin
elif [ "$(id -u)" = 0 ]; then
    home=/opt/assay bin=/usr/local/bin
else
    home=$HOME/.local/share/assay/installed bin=$HOME/.local/bin
fi

if $remove; then
    [ -f "$home/scenarios/collections.toml" ] || fail "nothing is installed in $home"
    rm -rf "$home"
    rm -f "$bin/assay"
    echo "removed $home and $bin/assay; data folders of services were left alone"
    exit 0
fi

[ "$(uname -s)" = Linux ] || fail "assay runs on Linux only; this is $(uname -s)"
[ "$(uname -m)" = x86_64 ] || fail "these programs are for x86-64; this machine is $(uname -m)"
if ! "$here/bin/assay" --version >/dev/null 2>&1; then
    why=$("$here/bin/assay" --version 2>&1 || true)
    fail "the programs do not start here; they need glibc (not musl), as in Debian 12, Ubuntu 22.04 or newer: $why"
fi

# A complete copy replaces an earlier one at once, so that an interrupted installation changes nothing.
mkdir -p "$(dirname "$home")" "$bin"
new=$home.new
rm -rf "$new" "$home.old"
cp -R "$here" "$new"
[ ! -e "$home" ] || mv "$home" "$home.old"
mv "$new" "$home"
rm -rf "$home.old"
ln -sf "$home/bin/assay" "$bin/assay"
echo "installed $("$bin/assay" --version) in $home, and the command $bin/assay"
case ":$PATH:" in
*":$bin:"*) ;;
*) echo "$bin is not on your PATH: add it, or run $bin/assay" ;;
esac
command -v bwrap >/dev/null 2>&1 || echo "bubblewrap is missing, in which policies are isolated: apt-get install bubblewrap"
echo "next: assay doctor, then assay demo"
