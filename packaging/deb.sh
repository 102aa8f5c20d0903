#!/bin/sh
# deb.sh ARCHIVE FOLDER: Debian packages of the release archive, source and binary, in FOLDER; then
# lintian on them, and what each must contain. The archive's tests are not run.
set -eu
archive=$1 folder=$2
name=$(basename "$archive" .tar.gz)
version=${name#syncbn-}
missing=
for package in build-essential debhelper lintian; do
    dpkg-query -W -f='${db:Status-Status}\n' $package 2> /dev/null | grep -qx installed ||
        missing="$missing $package"
done
[ -z "$missing" ] || {
    echo "make deb: install these packages first:$missing" >&2
    exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
cp "$archive" "$folder/syncbn_$version.orig.tar.gz"
tar -xzf "$archive" -C "$folder"
cd "$folder/$name"
# A make of its own: dpkg-buildpackage chooses how many jobs there are.
unset MAKEFLAGS MAKELEVEL MFLAGS
export DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
dpkg-buildpackage -us -uc
# As -A does with what is built: python3-syncbn is packed alone, into the same file.
rm -r debian/.debhelper debian/*.debhelper.log
debian/rules binary-indep > ../indep.log 2>&1 || {
    tail -n 20 ../indep.log >&2
    echo 'make deb: python3-syncbn cannot be packed alone' >&2
    exit 1
}
cd ..

lintian --allow-root --fail-on error --tag-display-limit 0 ./*.changes
echo 'lintian: no errors'

# holds PACKAGE FILE...: patterns of paths.
holds() {
    package=$1
    shift
    dpkg-deb -c "$package"_"$version"*.deb > contents
    for file in "$@"; do
        grep -qE " \./usr/$file( ->|\$)" contents || {
            echo "make deb: $package lacks usr/$file" >&2
            exit 1
        }
    done
}
holds libsyncbn0 'lib/[^/]*/libsyncbn\.so\.0'
holds libsyncbn-mpi0 'lib/[^/]*/libsyncbn-mpi\.so\.0'
holds libsyncbn-dev include/syncbn.h include/syncbn/pass.h \
    'lib/[^/]*/libsyncbn\.so' 'lib/[^/]*/libsyncbn\.a' 'lib/[^/]*/pkgconfig/syncbn\.pc' \
    'lib/[^/]*/cmake/syncbn/syncbn-config\.cmake' 'share/man/man3/sbn_forward\.3\.gz'
# The documents that the first pages link; debhelper renames the changelog.
for document in $(grep -ohE '\]\([^):]*\.md' "$name/README.md" "$name/INSTALL.md" |
    sed 's/CHANGELOG\.md/changelog/'); do
    document=${document#??}
    holds libsyncbn-dev "share/doc/libsyncbn-dev/${document##*/}(\.gz)?"
done
# MPI is for those who ask for it.
! grep mpi contents | grep -v doc/ || {
    echo 'make deb: this of libsyncbn-dev belongs to libsyncbn-mpi-dev' >&2
    exit 1
}
! dpkg-deb -f libsyncbn-dev_"$version"*.deb Depends | grep mpi || {
    echo 'make deb: libsyncbn-dev needs no MPI' >&2
    exit 1
}
holds libsyncbn-mpi-dev include/syncbn-mpi.h 'lib/[^/]*/libsyncbn-mpi\.so' \
    'lib/[^/]*/libsyncbn-mpi\.a' 'lib/[^/]*/pkgconfig/syncbn-mpi\.pc' \
    'share/man/man3/sbn_mpi_create\.3\.gz' 'share/man/man3/syncbn-mpi\.h\.3\.gz'
holds syncbn-tools bin/syncbn 'share/man/man1/syncbn-check\.1\.gz' \
    share/bash-completion/completions/syncbn
holds python3-syncbn lib/python3/dist-packages/syncbn/torch/__init__.py \
    lib/python3/dist-packages/syncbn/py.typed
dpkg-deb -I libsyncbn0_"$version"*.deb symbols
ls ./*.deb
