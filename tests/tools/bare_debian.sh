#!/bin/sh
# What a stranger does first, on a Debian 12 or 13 that has nothing else, in three ways: with the release archive, which
# quickstart or the usual commands build, install and use; with a checkout, without git; and as root in a checkout that
# is somebody else's, with git. Commands are looked up in README.md and INSTALL.md first. The systems are made by
# debootstrap, from the package mirror that this one uses. Run by make check-bare, for several minutes. Environment:
# srcdir, ARCHIVE (the archive), CHECK=full (each way on both systems, with all of ./quickstart check and of the demo,
# and with PyTorch; else the archive on Debian 12 and checkouts on 13, with some tests and steps).
. "${srcdir:=.}/tests/support/tap.sh"
: "${ARCHIVE:?}"

[ "$(id -u)" -eq 0 ] || skip_all 'a Debian root can only be made by root'
for tool in debootstrap unshare chroot; do
    command -v $tool > /dev/null || skip_all "$tool is not installed"
done
unshare --mount true 2> /dev/null || skip_all 'no mount namespace may be made here'
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 2> /dev/null |
    sed -n 's/^bookworm main //p' | head -n 1)
[ -n "$mirror" ] || skip_all "this system's apt knows no mirror of Debian 12"

trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM

# in_root USER SCRIPT: in a mount namespace of its own, so that nothing stays mounted. The root is a mount, too:
# else no namespace could be made within.
in_root() {
    unshare --mount $network sh -c '
        mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t sysfs -o ro sysfs "$1/sys" &&
        mount -t tmpfs shm "$1/dev/shm" &&
        exec chroot "$1" su - "$2" -s /bin/sh -c "$3"' sh "$root" "$1" "$2"
}

# user SCRIPT: as the stranger, in the tree.
user() {
    in_root stranger "cd $tree && $1"
}

# documented LINE...: the lines, if a document has each; as a script that stops at what fails.
documented() {
    echo 'set -e'
    for line in "$@"; do
        grep -qF -- "    $line" "$srcdir/README.md" "$srcdir/INSTALL.md" "$srcdir/doc/python.md" ||
            echo "echo 'no document has: $line'; exit 1"
        printf '%s\n' "$line"
    done
}

# play WHAT COMMAND...: check_run, with the system and the way.
play() {
    what="$system, $way: $1"
    shift
    check_run "$what" "$@"
}

status_is() { # STATUS COMMAND...
    wanted=$1
    shift
    "$@"
    came=$?
    [ $came -eq "$wanted" ] || { echo "expected status $wanted, got $came"; return 1; }
}

# debian SUITE SYSTEM: a system with a user without rights, in a folder of the suite's name.
debian() {
    suite=$1 system=$2 way='bare' network='' root=$work/$1
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" \
        > "$work/out" 2>&1 < /dev/null || return
    # How package mirrors are reached is this system's business.
    apt-config dump | grep -E '^Acquire::(http|https|Check)' > "$root/etc/apt/apt.conf.d/50mirror"
    echo 'APT::Get::Assume-Yes "true";' >> "$root/etc/apt/apt.conf.d/50mirror"
    for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
        [ ! -e $file ] || cp $file "$root$file"
    done
    echo "127.0.1.1 $(uname -n)" >> "$root/etc/hosts"
    play 'package lists' in_root root 'apt-get update && useradd -m -s /bin/bash stranger'
}
no_debian() {
    echo "debootstrap cannot make $suite here: $(grep '^[EW]: ' "$work/out" | tail -n 1)"
}

# fresh WAY: a copy of it.
fresh() {
    way=$1 network='' root=$work/root
    rm -rf --one-file-system "$root"
    cp -a "$work/$suite" "$root" || exit 1
}

allow_sudo() {
    play 'sudo' in_root root 'apt-get install -y --no-install-recommends sudo &&
        echo "stranger ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/stranger'
}

# The two commands of README.md, by user or owner.
demo() {
    if [ "${CHECK-}" = full ]; then
        play 'the demo' "$1" "$(documented './quickstart demo')"
        it_says '^Synchronising 8 replicas'
    else
        play 'the demo, a few steps of it' "$1" './quickstart demo --steps 2 --replicas 2'
        it_says '^Synchronising 2 replicas'
    fi
}
tests() {
    few="export MAKEFLAGS='TESTS=tests/tools/dist.sh check_PROGRAMS= check_LIBRARIES='"
    [ "${CHECK-}" != full ] || few=
    play "tests${few:+, a few of them}" "$1" "$few
        $(documented './quickstart check')"
    it_says 'all tests passed'
}

# PyTorch's way, by the installed package and by pip.
pytorch() {
    play 'PyTorch' user "$(documented 'sudo apt-get install python3-torch dataset-fashion-mnist' \
        './quickstart build && sudo make -C build install' \
        'python3 examples/fashion_ddp.py --verify --steps 100')
        python3 examples/fashion_ddp.py --steps 20"
    it_says '^the weights are the same$'
    it_says '^batch norm synchronised: test accuracy'
    play 'PyTorch, by pip' user "$(documented 'sudo apt-get install python3-venv' \
        'python3 -m venv --system-site-packages venv' 'venv/bin/pip install ./python')
        venv/bin/python -c 'import syncbn.torch; print(syncbn.__file__)'
        venv/bin/python examples/fashion_ddp.py --steps 20; rm -rf venv python/build python/*.egg-info"
    it_says '^/home/stranger/.*/venv/lib/'
    it_says '^batch norm synchronised: test accuracy'
}

# --- the release archive ----------------------------------------------------------------
from_archive() {
    fresh 'the archive'
    tree=/home/stranger/$(basename "$ARCHIVE" .tar.gz)
    cp "$ARCHIVE" "$root/home/stranger" || exit 1
    unpack="tar xf $(basename "$ARCHIVE")"
    play 'it is unpacked' in_root stranger "$unpack"

    play 'quickstart build without rights' status_is 1 user './quickstart build'
    it_says 'these packages are missing: gcc .* libjansson-dev'
    it_says 'Without root'
    it_never_says 'autoconf|libclblast|gnuplot'

    # --- without root, where somebody has installed a compiler ----------------------------------
    play 'compiler, make and Python' in_root root \
        'apt-get install -y --no-install-recommends gcc libc6-dev make python3-venv'
    # What only shows that it builds is not optimised.
    headers='headers="-I$HOME/packages/usr/include"'
    libraries='libraries="$HOME/packages/usr/lib/$(gcc -dumpmachine)"'
    libraries_flags='libraries="-L$libraries -Wl,-rpath,$libraries"'
    play 'built and installed without root' user "export CFLAGS=-O0; $(documented \
        'mkdir -p "$HOME/packages" && cd "$HOME/packages"' \
        'apt-get download ocl-icd-opencl-dev ocl-icd-libopencl1 opencl-c-headers libjansson-dev libjansson4' \
        'for package in *.deb; do dpkg -x "$package" .; done' \
        'python3 -m venv python && python/bin/pip install intel-opencl-rt intel-cmplr-lib-rt' \
        'cd -' \
        "$headers" "$libraries" "$libraries_flags" \
        './configure --prefix="$HOME/.local" OPENCL_CFLAGS="$headers" OPENCL_LIBS="$libraries -lOpenCL" JANSSON_CFLAGS="$headers" JANSSON_LIBS="$libraries -ljansson"' \
        'make && make install' \
        'echo "$HOME/packages/python/lib/libintelocl.so" > "$HOME/packages/intel.icd"' \
        'export OCL_ICD_VENDORS="$HOME/packages/intel.icd"' \
        '"$HOME/.local/bin/syncbn" devices')
        \$HOME/.local/bin/syncbn check mb4ic8ih5iw5"
    it_says '^     usable$'
    it_says '^1 problem, 0 failed'
    icd='export OCL_ICD_VENDORS="$HOME/packages/intel.icd"'
    play 'a program, without root' user "cp examples/minimal.c program.c
        $(documented "$icd" "$headers" "$libraries" "$libraries_flags" 'prefix="$HOME/.local"' \
        'cc program.c -I"$prefix/include" $headers -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lsyncbn $libraries -lOpenCL')
        ./a.out"
    play 'pkg-config' in_root root 'apt-get install -y --no-install-recommends pkg-config'
    play 'a program, by it' user "$(documented "$icd" 'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"' \
        'export LD_LIBRARY_PATH="$HOME/.local/lib"' 'cc program.c $(pkg-config --cflags --libs syncbn)')
        ./a.out"
    # No trace of it is left for what follows.
    play 'and removed' in_root stranger "make -C $tree uninstall && rm -rf $tree packages .local && $unpack"

    # --- as root, with what quickstart installs ---------------------------------------------------
    allow_sudo
    play 'built, installed and run' user "$(documented './quickstart build' \
        'sudo make -C build install' 'syncbn devices')"
    it_says '^     usable$'
    play 'the first check of a problem' user 'syncbn check mb4ic8ih5iw5'
    play 'a program' user "cp examples/minimal.c program.c
        $(documented 'cc program.c $(pkg-config --cflags --libs syncbn)') && ./a.out"
    play 'a program, with the static library' user "$(documented \
        'cc program.c $(pkg-config --cflags syncbn) "$(pkg-config --variable=libdir syncbn)/libsyncbn.a" $(pkg-config --libs OpenCL) -lm -lpthread')
        ./a.out && ldd a.out | tee ldd && ! grep -q syncbn ldd"
    play 'a program over MPI' user "cp examples/minimal_mpi.c program.c
        $(documented 'cc program.c $(pkg-config --cflags --libs syncbn-mpi)' 'mpiexec -n 4 ./a.out')"
    play 'CMake' in_root root 'apt-get install -y --no-install-recommends cmake'
    play 'a program, by CMake' user "mkdir cmake && cp examples/minimal.c cmake/program.c && cd cmake
        { echo 'cmake_minimum_required(VERSION 3.18)'; echo 'project(program C)'
          echo 'add_executable(program program.c)'
          sed -n '/^\`\`\`cmake\$/,/^\`\`\`\$/p' ../INSTALL.md | sed '1d;\$d' | grep -v target_link
          sed -n '/^target_link_libraries/p' ../INSTALL.md; } > CMakeLists.txt
        cmake . && make && ./program"

    # --- the demo ---------------------------------------------------------------------------------
    demo user
    it_says "^curves: $tree/build/fashion.csv and $tree/build/fashion.png\$"
    play 'the picture is one' user 'head -c 4 build/fashion.png | grep -q PNG'
    [ "${CHECK-}" != full ] || tests user
    [ "${CHECK-}" != full ] || pytorch

    play 'uninstalled' user "$(documented 'sudo make -C build uninstall')
        find /usr/local -name '*syncbn*' | tee left && [ ! -s left ]"

    # --- into a folder of the user's, without a network -------------------------------------------
    network=--net
    play 'there is no network' user '! getent hosts deb.debian.org'
    play 'nor git, autoconf, automake, doxygen or help2man' user \
        '! command -v git autoconf automake libtoolize doxygen help2man'
    play 'a folder of one'"'"'s own' user "export CFLAGS=-O0; rm -rf build && $(documented \
        './configure --prefix="$HOME/.local" && make && make install' \
        'export PATH="$HOME/.local/bin:$PATH"' \
        'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"' \
        'export LD_LIBRARY_PATH="$HOME/.local/lib"')
        env -u LD_LIBRARY_PATH syncbn devices
        cp examples/minimal.c program.c
        $(documented 'cc program.c $(pkg-config --cflags --libs syncbn)') && ./a.out
        unset LD_LIBRARY_PATH
        cc program.c \$(pkg-config --cflags --libs syncbn) -Wl,-rpath,\$HOME/.local/lib && ./a.out"
    play 'the man pages are installed' user 'ls $HOME/.local/share/man/man3/sbn_forward.3'
    play 'make dist' user 'make dist'
    made=$root$tree/$(basename "$ARCHIVE")
    # tar 1.35 of Debian 13 writes other headers.
    [ "$suite" != bookworm ] || play 'its archive is the same bytes' cmp "$ARCHIVE" "$made"
    network=
}

# --- a checkout ---------------------------------------------------------------------------
# Of the files as they are, and with git's folder.
checkout() {
    tree=/home/stranger/syncbn
    git clone -q --no-checkout "$srcdir" "$root$tree" > "$work/out" 2>&1 &&
        git -C "$srcdir" ls-files -z | tar -C "$srcdir" --null -T - -c | tar -C "$root$tree" -x &&
        in_root root 'chown -R stranger: /home/stranger'
}
owner() {
    in_root root "cd $tree && $1"
}

from_checkout() {
    fresh 'a checkout without git'
    checkout || {
        skip "$system, $way" 'this is none, or git is missing'
        return
    }
    play 'autoconf, without pkg-config' in_root root \
        'apt-get install -y --no-install-recommends autoconf automake libtool'
    play 'autoreconf without pkg-config: status 1' status_is 1 user 'autoreconf -fi'
    it_says 'install pkg-config and run autoreconf again'
    allow_sudo
    demo user
    tests user
    play 'there is no git' user '! command -v git'
    play 'some of the recorded bits' user "grep -v '^#' tests/pass/golden | sed -n '1~45p' > bits
        POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable build/tools/syncbn/syncbn check --file bits"

    way="somebody else's checkout"
    play 'git' in_root root 'apt-get install -y --no-install-recommends git'
    play 'git refuses it' owner '! git log'
    it_says 'dubious ownership'
    demo owner
    tests owner
}

debian bookworm 'Debian 12' || skip_all "$(no_debian)"
from_archive
[ "${CHECK-}" != full ] || from_checkout
if debian trixie 'Debian 13'; then
    [ "${CHECK-}" != full ] || from_archive
    from_checkout
else
    skip 'Debian 13' "$(no_debian)"
fi
echo "1..$count"
