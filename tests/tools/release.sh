#!/bin/sh
# packaging/release-check.sh: each mistake of a release is refused by name, in a repository of its
# own that stands for the tree. What takes minutes there is not run.
# Environment: srcdir.
. "${srcdir:=.}/tests/support/tap.sh"
git --version > /dev/null 2>&1 || skip_all 'git is not installed'
tree=$work/tree script=$(cd "$srcdir" && pwd)/packaging/release-check.sh
mkdir -p "$tree/debian" "$tree/src" "$work/build"
# The git of this test is nobody's.
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=n@n.invalid
export GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=n@n.invalid
unset GIT_DIR GIT_WORK_TREE

release_check() {
    (cd "$work/build" && srcdir=$tree VERSION=${VERSION-0.1.0} \
        VERSION_INFO=${VERSION_INFO-0:0:0} sh "$script" basics) > "$work/out" 2>&1
}
refused() { # WHAT SENTENCE
    sentence=$2
    check "$1" eval '! release_check && grep -qE -- "$sentence" "$work/out"'
}
commit() {
    git -C "$tree" add -A && git -C "$tree" commit -qm "$1"
}

printf '# Changes\n\n## 0.1.0, 2026-11-30\n' > "$tree/CHANGELOG.md"
echo 'syncbn (0.1.0-1) unstable; urgency=medium' > "$tree/debian/changelog"
echo 'AC_SUBST([SBN_VERSION_INFO], [0:0:0])' > "$tree/configure.ac"
echo 'int x;' > "$tree/src/x.c"
git init -q "$tree" && commit first
check 'a first release' release_check

sed -i.old 's/2026-11-30/not yet released/' "$tree/CHANGELOG.md" && rm "$tree/CHANGELOG.md.old"
refused 'a change log without a date' 'CHANGELOG.md: expected "## 0.1.0, YEAR.*not yet released'
git -C "$tree" checkout -q .
VERSION=0.2.0 refused 'another version than the change log' 'CHANGELOG.md: expected "## 0.2.0'
VERSION=0.1 refused 'a version of two numbers' 'three numbers'
echo 'syncbn (0.0.9-1) unstable; urgency=medium' > "$tree/debian/changelog"
refused "another version than Debian's" 'debian/changelog: expected 0.1.0, got 0.0.9'
git -C "$tree" checkout -q .
echo 'int y;' >> "$tree/src/x.c"
refused 'a changed file' 'changes or unknown files'
git -C "$tree" checkout -q .
touch "$tree/unknown"
refused 'an unknown file' 'changes or unknown files'
rm "$tree/unknown"

git -C "$tree" tag v0.1.0
refused 'a tag that there is' 'v0.1.0 exists already'
next() { # VERSION: of the change logs
    printf '# Changes\n\n## %s, 2026-12-30\n' "$1" > "$tree/CHANGELOG.md"
    echo "syncbn ($1-1) unstable; urgency=medium" > "$tree/debian/changelog"
    commit "$1"
}
next 0.0.9
VERSION=0.0.9 refused 'a version below the last' 'above v0.1.0, got 0.0.9'
next 0.1.1
VERSION=0.1.1
export VERSION
check 'a release without changed sources' release_check
echo 'int z;' >> "$tree/src/x.c" && commit source
refused 'changed sources with the same version for libtool' 'SBN_VERSION_INFO: expected another'
VERSION_INFO=0:1:0
export VERSION_INFO
check 'and with another' release_check
echo "1..$count"
