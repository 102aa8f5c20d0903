"""kernel_coverage.py: tells which conditions of the kernels are never true, or never false, in the tests.

    kernel_coverage.py mark FROM TO    copies the folder cl, with a mark at each outcome of an if, a for and a while
    kernel_coverage.py report FROM TO  tells what has no mark, and fails if there is any

On a CPU a kernel can write to any memory of its process: a mark is a byte at a fixed address, where a library
(LD_PRELOAD) maps TO/marks, which all processes share.
"""
import os
import re
import shutil
import sys

PLACE = '0x200000000000UL'
MOST = 1 << 16
MARK = f'''#ifndef MARK
#define MARK(condition, n) (mark_at((condition) ? (n) : (n) + 1) == (n))
static uint mark_at(uint n)
{{
    *(volatile global uchar *)({PLACE} + n) = 1;
    return n;
}}
#endif
'''
LIBRARY = f'''#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((constructor)) static void map(void)
{{
    const int file = open("%s", O_RDWR);
    if (file < 0 || mmap((void *){PLACE}, {MOST}, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0) !=
                        (void *){PLACE})
        abort();
}}
'''


def masked(text):
    """The text with blanks for comments, strings, the preprocessor's lines and what no CPU's compiler sees."""
    pattern = (r'^#ifdef __AMDGCN__.*?^#endif|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|'
               r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*')
    return re.sub(pattern, lambda m: re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S | re.M)


def conditions_of(text):
    """(begin, end) of each condition that is written."""
    seen = masked(text)
    for match in re.finditer(r'\b(?:if|for|while) \(', seen):
        begin, depth, parts = match.end(), 1, [match.end()]
        for at in range(begin, len(seen)):
            depth += (seen[at] in '([{') - (seen[at] in ')]}')
            if seen[at] == ';' and depth == 1:
                parts.append(at + 1)
            elif depth == 0:
                break
        begin, end = (begin, at) if len(parts) == 1 else (parts[1], parts[2] - 1)
        if seen[begin:end].strip():
            yield begin, end


def files_of(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
                  if name.endswith('.cl'))


def mark(source, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to)
    number = 0
    for file in files_of(to):
        text, marked, last = open(file).read(), MARK, 0
        for begin, end in sorted(conditions_of(text)):
            marked += f'{text[last:begin]}MARK({text[begin:end]}, {number})'
            last, number = end, number + 2
        write(file, marked + text[last:])
    assert number <= MOST
    open(f'{to}/marks', 'wb').write(bytes(MOST))
    write(f'{to}/marks.c', LIBRARY % os.path.abspath(f'{to}/marks'))


def report(source, to):
    marks, number, missing = open(f'{to}/marks', 'rb').read(), 0, 0
    for file in files_of(source):
        text = open(file).read()
        for begin, end in sorted(conditions_of(text)):
            for outcome, met in zip(('true', 'false'), marks[number:number + 2]):
                if not met:
                    line, condition = text.count('\n', 0, begin) + 1, ' '.join(text[begin:end].split())
                    print(f'cl/{os.path.relpath(file, source)}:{line}: never {outcome}: {condition}')
                    missing += 1
            number += 2
    print(f'{number // 2} conditions of kernels, {missing} outcomes that no test has')
    return missing > 0


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


if __name__ == '__main__':
    if sys.argv[1] == 'mark':
        mark(*sys.argv[2:])
    else:
        sys.exit(report(*sys.argv[2:]))
