#!/bin/sh
# What a stranger does first, on a Debian that has nothing else: the release archive is unpacked,
# built by quickstart, installed and used as README.md says. Every command that is marked "readme"
# is looked up there first. The system is made by debootstrap, from the package mirror that this
# one uses. Run by make check-bare; it takes several minutes.
# Environment: srcdir, ARCHIVE (the archive), BARE=full (also ./quickstart check, all of it).
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

root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM

# in_root USER SCRIPT: in a mount namespace of its own, so that nothing stays mounted.
network=
in_root() {
    unshare --mount $network sh -c '
        mount -t proc proc "$1/proc" && mount -t sysfs -o ro sysfs "$1/sys" &&
        mount -t tmpfs shm "$1/dev/shm" &&
        exec chroot "$1" su - "$2" -s /bin/sh -c "$3"' sh "$root" "$1" "$2"
}

# user SCRIPT: as the stranger, in the unpacked archive.
user() {
    in_root stranger "cd $tree && $1"
}

# readme LINE...: the lines, if README.md has each; as a script that stops at what fails.
readme() {
    echo 'set -e'
    for line in "$@"; do
        grep -qF -- "    $line" "$srcdir/README.md" || echo "echo 'README.md has no: $line'; exit 1"
        printf '%s\n' "$line"
    done
}

status_is() { # STATUS COMMAND...
    wanted=$1
    shift
    "$@"
    came=$?
    [ $came -eq "$wanted" ] || echo "expected status $wanted, got $came"
    [ $came -eq "$wanted" ]
}

# --- a Debian, and a user without rights ----------------------------------------------
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" \
    > "$work/out" 2>&1 < /dev/null ||
    skip_all "debootstrap cannot make a Debian here: $(grep '^[EW]: ' "$work/out" | tail -n 1)"
# How package mirrors are reached is this system's business.
apt-config dump | grep -E '^Acquire::(http|https|Check)' > "$root/etc/apt/apt.conf.d/50mirror"
for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e $file ] || cp $file "$root$file"
done
echo "127.0.1.1 $(uname -n)" >> "$root/etc/hosts"
check_run 'its package lists' in_root root 'apt-get update && useradd -m -s /bin/bash stranger'
tree=/home/stranger/$(basename "$ARCHIVE" .tar.gz)
cp "$ARCHIVE" "$root/home/stranger" || exit 1
unpack="tar xf $(basename "$ARCHIVE")"
check_run 'the archive is unpacked' in_root stranger "$unpack"

check_run 'quickstart check with an option it does not have: status 2' \
    status_is 2 user './quickstart check --fast'
it_says "check takes no argument '--fast'"
check_run 'quickstart build without rights' status_is 1 user './quickstart build'
it_says 'these packages are missing: gcc .* libjansson-dev'
it_says 'Without root'
it_never_says 'autoconf|libclblast|gnuplot'

# --- without root, where somebody has installed a compiler ----------------------------------
check_run 'compiler, make and Python' in_root root \
    'apt-get install -y --no-install-recommends gcc libc6-dev make python3-venv'
# What only shows that it builds is not optimised.
check_run 'built and installed without root' user "export CFLAGS=-O0; $(readme \
    'mkdir -p "$HOME/packages" && cd "$HOME/packages"' \
    'apt-get download ocl-icd-opencl-dev ocl-icd-libopencl1 opencl-c-headers libjansson-dev libjansson4' \
    'for package in *.deb; do dpkg -x "$package" .; done' \
    'python3 -m venv python && python/bin/pip install intel-opencl-rt intel-cmplr-lib-rt' \
    'cd -' \
    'libraries="$HOME/packages/usr/lib/$(gcc -dumpmachine)"' \
    './configure --prefix="$HOME/.local" CPPFLAGS="-I$HOME/packages/usr/include" LDFLAGS="-L$libraries -Wl,-rpath,$libraries"' \
    'make && make install' \
    'echo "$HOME/packages/python/lib/libintelocl.so" > "$HOME/packages/intel.icd"' \
    'export OCL_ICD_VENDORS="$HOME/packages/intel.icd"' \
    '"$HOME/.local/bin/syncbn" devices')
    \$HOME/.local/bin/syncbn check mb4ic8ih5iw5"
it_says '^     usable$'
it_says '^1 problem, 0 failed'
# No trace of it is left for what follows.
check_run 'and removed' in_root stranger "make -C $tree uninstall && rm -rf $tree packages .local && $unpack"

# --- as root, with what quickstart installs ---------------------------------------------------
check_run 'sudo' in_root root 'apt-get install -y --no-install-recommends sudo &&
    echo "stranger ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/stranger'
check_run 'built, installed and run' user "$(readme './quickstart build' \
    'sudo make -C build install' 'syncbn devices')"
it_says '^     usable$'
check_run 'the first check of a problem' user 'syncbn check mb4ic8ih5iw5'
check_run 'no driver: status 1' status_is 1 user 'OCL_ICD_VENDORS=/none syncbn devices'
it_says 'apt install pocl-opencl-icd'
check_run 'PoCL without a folder to write to: status 1' status_is 1 user 'HOME=/proc syncbn devices'
it_says 'POCL_CACHE_DIR'
check_run 'a program' user "cp examples/minimal.c program.c
    $(readme 'cc program.c $(pkg-config --cflags --libs syncbn)') && ./a.out"
check_run 'a program, with the static library' user "$(readme \
    'cc program.c $(pkg-config --cflags syncbn) "$(pkg-config --variable=libdir syncbn)/libsyncbn.a" $(pkg-config --libs OpenCL) -lm -lpthread')
    ./a.out && ldd a.out | tee ldd && ! grep -q syncbn ldd"
check_run 'a program over MPI' user "cp examples/minimal_mpi.c program.c
    $(readme 'cc program.c $(pkg-config --cflags --libs syncbn-mpi)' 'mpiexec -n 4 ./a.out')"
check_run 'CMake' in_root root 'apt-get install -y --no-install-recommends cmake'
check_run 'a program, by CMake' user "mkdir cmake && cp examples/minimal.c cmake/program.c && cd cmake
    { echo 'cmake_minimum_required(VERSION 3.18)'; echo 'project(program C)'
      echo 'add_executable(program program.c)'
      sed -n '/^\`\`\`cmake\$/,/^\`\`\`\$/p' ../README.md | sed '1d;\$d' | grep -v target_link
      sed -n '/^target_link_libraries/p' ../README.md; } > CMakeLists.txt
    cmake . && make && ./program"

# --- the demo ---------------------------------------------------------------------------------
check_run 'the demo, a few steps of it' user './quickstart demo --steps 2 --replicas 2'
it_says '^Synchronising 2 replicas'
it_says "^curves: $tree/build/fashion.csv and $tree/build/fashion.png\$"
check_run 'the picture is one' user 'head -c 4 build/fashion.png | grep -q PNG'
check_run 'a mistake in its options: status 2' status_is 2 user './quickstart demo --epoch 1'
it_says "unknown option '--epoch'"
it_never_says 'MPI_Abort'

if [ "${BARE-}" = full ]; then
    check_run 'quickstart check, all of it' user './quickstart check'
    it_says 'all tests passed'
    it_never_says 'SKIP [^ ]'
fi

check_run 'uninstalled' user "$(readme 'sudo make -C build uninstall')
    find /usr/local -name '*syncbn*' | tee left && [ ! -s left ]"

# --- into a folder of the user's, without a network -------------------------------------------
network=--net
check_run 'there is no network' user '! getent hosts deb.debian.org'
check_run 'nor git, autoconf, automake, doxygen or help2man' user \
    '! command -v git autoconf automake libtoolize doxygen help2man'
check_run 'a folder of one'"'"'s own' user "export CFLAGS=-O0; rm -rf build && $(readme \
    './configure --prefix="$HOME/.local" && make && make install' \
    'export PATH="$HOME/.local/bin:$PATH"' \
    'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"' \
    'export LD_LIBRARY_PATH="$HOME/.local/lib"')
    env -u LD_LIBRARY_PATH syncbn devices
    cp examples/minimal.c program.c
    $(readme 'cc program.c $(pkg-config --cflags --libs syncbn)') && ./a.out
    unset LD_LIBRARY_PATH
    cc program.c \$(pkg-config --cflags --libs syncbn) -Wl,-rpath,\$HOME/.local/lib && ./a.out"
check_run 'the man pages are installed' user 'ls $HOME/.local/share/man/man3/sbn_forward.3'
check_run 'make dist' user 'make dist'
check_run 'its archive is the same bytes' cmp "$ARCHIVE" "$root$tree/$(basename "$ARCHIVE")"
echo "1..$count"
