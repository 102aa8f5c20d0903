#!/bin/sh
# quickstart where there is no dpkg, on a tree of its own: what it asks for, what it refuses, and
# what it shows while tests run. The tools are this system's, and some are made up.
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
for tool in sh awk cat cp cut date dirname env expr find getconf grep id ls mkdir mv paste rm \
    sed sort tail tee tr uname uniq; do
    path=$(command -v $tool) && ln -s "$path" "$work/bin/$tool"
done
# made_up NAME: a tool, from standard input.
made_up() {
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

quickstart 1 build
it_says 'not found here: cc make pkg-config autoreconf automake libtoolize OpenCL.pc jansson.pc$'
it_never_says 'clblast|gnuplot'
touch "$tree/configure" "$tree/Makefile.in" "$tree/build-aux/tap-driver.sh"
quickstart 1 build
it_says 'not found here: cc make pkg-config OpenCL.pc jansson.pc$'
it_says 'README.md'
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
ln -s "$(command -v make)" "$work/bin/make"
real_sleep=$(command -v sleep)
echo "exec '$real_sleep' 0.05" | made_up sleep
cat > "$tree/configure" << 'END'
#!/bin/sh
echo "$@" > arguments
cp "${0%/*}/Makefile.in" Makefile
END
chmod +x "$tree/configure"
cat > "$tree/Makefile.in" << 'END'
TESTS = quick slow
TEST_LOGS = quick.log slow.log
all:
check:
	mkdir -p tests; test -n '$(TESTS)' || exit 0; \
	echo 'PASS: tests/quick 1 - yes' | tee tests/quick.log; echo > tests/quick.trs; \
	{ echo 'PASS: tests/slow 1 - yes'; echo 'SKIP: tests/slow 2 - no device'; } | tee tests/slow.log; \
	REAL_SLEEP 3; echo > tests/slow.trs; \
	printf '# TOTAL: 3\n# PASS:  2\n# SKIP:  1\n' > test-suite.log
END
sed "s,REAL_SLEEP,$real_sleep," "$tree/Makefile.in" > "$work/Makefile" &&
    mv "$work/Makefile" "$tree/Makefile.in"
quickstart 0 check
it_says 'running 2 test programs: about [0-9]+ minutes'
it_says '^  tests/quick: 1 passed$'
it_says '^  SKIP: tests/slow 2 - no device$'
it_says '^  -- after 0 min [0-9] s: 1 of 2 programs have ended; running: tests/slow \(1 passed, 1 skipped\)$'
it_says '^  tests/slow: 1 passed, 1 skipped$'
it_says '^  PASS: 2$'
it_says 'all tests passed'
check 'each program once' [ "$(grep -c '^  tests/quick: ' "$work/out")" -eq 1 ]
sed 's/printf/exit 1; printf/' "$tree/Makefile.in" > "$work/Makefile" &&
    mv "$work/Makefile" "$tree/Makefile.in" && rm -rf "$tree/build"
quickstart 1 check
it_says 'make check failed'
echo "1..$count"
