#!/bin/sh
# release-check.sh [basics]: the checklist of a release, as doc/abi.md has it, in a build directory;
# "basics" stops before what takes minutes. Environment: srcdir, VERSION, VERSION_INFO, MAKE.
set -eu
: "${srcdir:=.}" "${VERSION:?}" "${VERSION_INFO:?}" "${MAKE:=make}"
top=$(cd "$srcdir" && pwd)
step() {
    echo "release-check: $*"
}
die() {
    echo "release-check: $*" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "the version is $VERSION everywhere"
echo "$VERSION" | grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' || die "$VERSION: expected three numbers"
heading=$(sed -n 's/^## //p' "$top/CHANGELOG.md" | head -n 1)
echo "$heading" | grep -qE "^$VERSION, [0-9]{4}-[0-9]{2}-[0-9]{2}\$" ||
    die "CHANGELOG.md: expected \"## $VERSION, YEAR-MONTH-DAY\", got \"## $heading\""
package=$(sed -n '1s/^syncbn (\(.*\)-[^-]*) .*/\1/p' "$top/debian/changelog")
[ "$package" = "$VERSION" ] || die "debian/changelog: expected $VERSION, got $package"
package=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$top/python/pyproject.toml")
[ "$package" = "$VERSION" ] || die "python/pyproject.toml: expected $VERSION, got $package"
! git -C "$top" rev-parse -q --verify "refs/tags/v$VERSION" > /dev/null ||
    die "the tag v$VERSION exists already"
last=$(git -C "$top" tag --list 'v*' --sort=-v:refname | head -n 1)
if [ -n "$last" ]; then
    highest=$(printf '%s\n%s\n' "${last#v}" "$VERSION" | sort -V | tail -n 1)
    [ "$highest" = "$VERSION" ] || die "expected a version above $last, got $VERSION"
fi

step 'the tree is clean'
changed=$(git -C "$top" status --porcelain)
[ -z "$changed" ] || die "the tree has changes or unknown files:
$changed"

step "libtool's version was raised"
if [ -n "$last" ]; then
    former=$(git -C "$top" show "$last:configure.ac" |
        sed -n 's/.*\[SBN_VERSION_INFO\], \[\(.*\)\].*/\1/p')
    if ! git -C "$top" diff --quiet "$last" -- src cl include; then
        [ "$former" != "$VERSION_INFO" ] ||
            die "SBN_VERSION_INFO: expected another than $last's $former, because sources have changed"
    fi
fi

[ "${1-}" != basics ] || exit 0

step 'distcheck, with all of the long lists'
CHECK=full "$MAKE" distcheck DISTCHECK_CONFIGURE_FLAGS=--enable-werror > distcheck.log 2>&1 ||
    { tail -n 40 distcheck.log >&2; die 'make distcheck failed; see distcheck.log'; }

step 'the demo gives the figures of README.md'
"$MAKE" -s check-demo

step 'a second clone gives the same archive'
"$MAKE" -s dist
git clone -q "$top" "$work/clone"
(cd "$work/clone" && autoreconf -fi && mkdir build && cd build && ../configure -q &&
    "$MAKE" -j "$(nproc)" tools/syncbn/syncbn && "$MAKE" dist) > "$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; die 'make dist in a second clone failed'; }
cmp "syncbn-$VERSION.tar.gz" "$work/clone/build/syncbn-$VERSION.tar.gz" ||
    die 'the archives differ'

step 'Debian packages'
"$MAKE" deb > deb.log 2>&1 || { tail -n 40 deb.log >&2; die 'make deb failed; see deb.log'; }
grep -E '^[EW]: ' deb.log || :

step "$VERSION is ready: $(sha256sum "syncbn-$VERSION.tar.gz")"
step "now: git tag -s v$VERSION -m 'syncbn $VERSION'"
