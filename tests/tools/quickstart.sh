#!/bin/sh
# quickstart on a tree of its own, where there is no dpkg or a made-up one: what it asks for, installs and refuses, what
# it shows while tests run, and what it leaves when it is stopped. The tools are this system's, and some are made up.
# Environment: srcdir.
. "${srcdir:=.}/tests/support/tap.sh"
tree=$work/tree
# A make of its own, not a part of make check.
unset MAKEFLAGS MAKELEVEL MFLAGS

# quickstart STATUS ARGUMENTS...
quickstart() {
    expected=$1
    shift
    (cd "$work" && PATH=$work/bin tree/quickstart "$@" > "$work/out" 2>&1 < /dev/null)
    status=$?
    check "quickstart $*: expected status $expected, got $status" [ $status -eq "$expected" ]
}

mkdir "$work/bin" "$tree" "$tree/build-aux" && cp "$srcdir/quickstart" "$tree" || exit 1
# linked TOOL...: this system's, those that it has.
linked() {
    for tool in "$@"; do
        path=$(command -v "$tool") && ln -s "$path" "$work/bin/$tool"
    done
}
linked sh awk cat cp cut date dirname env expr find getconf grep id ls mkdir mv paste rm sed sort tail tee tr \
    uname uniq
# made_up NAME: a tool, from standard input; not through a link to this system's.
made_up() {
    rm -f "$work/bin/$1"
    { echo '#!/bin/sh'; cat; } > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}

quickstart 2
quickstart 2 chekc
it_says '^usage: '
quickstart 2 check --fast
it_says "^quickstart: check takes no argument '--fast'"
quickstart 2 build now
check 'nothing was made' [ ! -e "$tree/build" ]
for character in ' ' \\ \" \# \$ \& \' \` \( \) \< \> \| : \; % , \* \? '['; do
    odd="$work/my${character}tree"
    mkdir "$odd" && cp "$srcdir/quickstart" "$odd"
    "$odd/quickstart" build > "$work/out" 2>&1
    check "a path with '$character': status 1" [ $? -eq 1 ]
    check 'it is refused' grep -qF "cannot build in \"$odd\": the path has a space" "$work/out"
    check 'nothing was made there' [ ! -e "$odd/build" ]
done

quickstart 1 build
it_says 'not found here: cc make pkg-config autoreconf automake libtoolize OpenCL.pc jansson.pc$'
it_never_says 'clblast|gnuplot'
touch "$tree/configure" "$tree/Makefile.in" "$tree/build-aux/tap-driver.sh"
quickstart 1 build
it_says 'not found here: cc make pkg-config OpenCL.pc jansson.pc$'
it_says 'INSTALL.md'
quickstart 1 check
it_never_says 'clblast|gnuplot|autoreconf'
quickstart 1 demo
it_says 'clblast.pc zlib.pc$'
it_never_says 'gnuplot|autoreconf'

printf '%s\n' 'printf "%s\n" "$*"' | made_up echo

# A configure that writes a Makefile of two test programs: one is quick, one takes a while.
for tool in cc pkg-config; do
    echo 'exit 0' | made_up $tool
done
linked make
real_sleep=$(command -v sleep)
echo "exec '$real_sleep' 0.05" | made_up sleep
made_up ../tree/configure << 'END'
echo "$@" > arguments
echo '  package for Python  yes, by python3, which does not look into /none: doc/python.md'
cp "${0%/*}/Makefile.in" Makefile
END
cat > "$tree/Makefile.in" << 'END'
TESTS = quick slow
TEST_LOGS = quick.log slow.log
all:
check:
	mkdir -p tests; test -n '$(TESTS)' || exit 0; \
	echo 'PASS: tests/quick.py 1 - yes' | tee tests/quick.log; echo > tests/quick.trs; \
	{ echo 'PASS: tests/slow 1 - yes'; echo 'SKIP: tests/slow 2 - no device'; } | tee tests/slow.log; \
	REAL_SLEEP 3; echo > tests/slow.trs; \
	printf '# TOTAL: 3\n# PASS:  2\n# SKIP:  1\n' > test-suite.log
END
sed -i.old "s,REAL_SLEEP,$real_sleep," "$tree/Makefile.in"
quickstart 0 check
it_says 'running 2 test programs: about [0-9]+ minutes'
it_says '^  tests/quick: 1 passed$'
it_says '^  SKIP: tests/slow 2 - no device$'
it_says '^  -- after 0 min [0-9] s: 1 of 2 programs have ended; running: tests/slow \(1 passed, 1 skipped\)$'
it_says '^  tests/slow: 1 passed, 1 skipped$'
it_says '^  PASS: 2$'
it_says 'all tests passed'
check 'each program once' [ "$(grep -c '^  tests/quick: ' "$work/out")" -eq 1 ]
# After a run that has passed, one whose shell is killed, as for want of memory.
sed 's,printf,kill -KILL $$(cut -d" " -f4 /proc/$$PPID/stat); printf,' "$tree/Makefile.in" > "$tree/build/Makefile"
if possible 'a shell that is killed' 'there is no /proc' [ -e /proc/self/stat ]; then
    quickstart 1 check
    it_says 'make check failed'
fi
sed -i.old 's/printf/exit 1; printf/' "$tree/Makefile.in" && rm -rf "$tree/build"
quickstart 1 check
it_says 'make check failed'

# --- stopped, and beside another one ----------------------------------------------------
wait_for() { # CONDITION...
    tries=0
    until eval "$@"; do
        [ $((tries += 1)) -le 100 ] || return 1
        "$real_sleep" 0.1
    done
}
# A test in a process group of its own.
cat > "$tree/Makefile.in" << END
TESTS = endless
TEST_LOGS = endless.log
all:
check:
	test -z '\$(TESTS)' || timeout 60 sh -c 'echo \$\$\$\$ > pid; exec $real_sleep 60'
END
linked flock timeout
if possible 'stopped by a signal' 'there is no /proc' [ -e /proc/self/stat ]; then
    rm -rf "$tree/build"
    (cd "$work" && PATH=$work/bin exec tree/quickstart check > "$work/first" 2>&1 < /dev/null) &
    first=$!
    wait_for '[ -s "$tree/build/pid" ]'
    if possible 'two at once' 'flock is not installed' has flock; then
        quickstart 1 build
        it_says '^quickstart: "quickstart check" \(process [0-9]+, since .*\) is at work in .*build'
    fi
    pid=$(cat "$tree/build/pid")
    kill "$first"
    wait "$first"
    check 'SIGTERM: it ends by it' [ $? -eq 143 ]
    check 'and its tests, too' wait_for '! grep -q sleep "/proc/$pid/cmdline" 2> /dev/null'
    # What is left of it holds the lock for a moment.
    has flock && wait_for 'flock -n "$tree/build/quickstart-logs/lock" true'
    quickstart 0 build
    it_says '^quickstart: package for Python  yes, by python3, which does not look into /none: doc/python.md$'
fi

# --- what is wanted, and not needed -----------------------------------------------------
# A Debian that has all but libdnnl-dev and iproute2 installed, and knows no iproute2.
made_up dpkg-query << 'END'
case $* in *iproute2* | *libdnnl*) exit 1 ;; esac
printf 'installed\ninstalled\n' # for two architectures
END
made_up apt-get << END
echo "\$*" >> '$work/apt'
case \$* in
    update) [ "\$LC_ALL" = C ] && cat '$work/lists' && [ ! -s '$work/lists' ] ;;
    *iproute2*) exit 100 ;;
    'install -y '*) [ ! -s '$work/lists' ] ;;
esac
END
echo 'echo 0' | made_up id
sed -i.old 's/timeout .*/true/' "$tree/Makefile.in" && rm -rf "$tree/build"
quickstart 0 build
check 'build wants nothing more' [ ! -e "$work/apt" ]
echo 'Err:1 no network' > "$work/lists"
quickstart 0 check
it_says 'going on without libdnnl-dev: .*/apt-install-wanted.log says why'
check 'lists that were not fetched say nothing' [ ! -e "$tree/build/quickstart-logs/left-out" ]
: > "$work/lists"
quickstart 0 check
it_says 'going on without iproute2: apt-get finds no such package'
check 'oneDNN is installed, alone' grep -qx 'install -y --no-install-recommends libdnnl-dev' "$work/apt"
echo 'case $* in *iproute2*) exit 1 ;; esac; printf installed' | made_up dpkg-query
rm "$work/apt"
quickstart 0 check
it_says 'going on without iproute2: apt-get finds no such package'
check 'nor is it looked for again' [ ! -e "$work/apt" ]
echo 'echo 1000' | made_up id
rm -rf "$tree/build"
quickstart 0 check
it_says 'going on without iproute2: packages can only be installed by root'

# A Python that has come gets its package; names of files are those of the caller's folder, the status is the demo's.
rm "$tree/build/arguments"
quickstart 0 build
check 'nothing is configured anew' [ ! -e "$tree/build/arguments" ]
made_up python3 < /dev/null
quickstart 0 build
check 'but for a Python that has come' [ -e "$tree/build/arguments" ]
mkdir "$tree/build/examples"
printf '%s\n' 'pwd' 'echo "$@"' 'exit 2' | made_up ../tree/build/examples/train_fashion
quickstart 2 demo --data images
check "the demo runs in the caller's folder" grep -qx "$work" "$work/out"
it_says "^--out .*/build/fashion --data images$"
echo "1..$count"
