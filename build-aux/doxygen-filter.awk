# The public headers as doxygen reads them: their comments are plain C comments.
#
#   a comment on lines of its own          documents what follows
#   the first one, and one before a blank line     documents the header
#   a comment behind code                  documents that code
#   lines of a comment indented by two or more     are shown as they are, except in a list ("- ")
#   a paragraph that begins with "Return value." or "Errors."   is a section; they come last. A
#                                          function that returns a status has both, from here
#                                          if the comment has none

# The text of a comment: doxygen's special characters lose their meaning.
function text(line)
{
    gsub(/[\\@<#]/, "\\\\&", line)
    gsub(/\*[a-z_]/, "\\\\&", line)
    return line
}

# One line of a comment on lines of its own, without its stars.
function add(line,    shown)
{
    in_list = line ~ /^- / || in_list && line != ""
    shown = line ~ /^  / && !in_list
    if (shown != was_shown && line != "" && !was_blank)
        block = block "\n"
    if (was_blank && match(line, /^(Return value|Errors)\. /)) {
        block = block "@par " substr(line, 1, RLENGTH - 2) "\n"
        line = substr(line, RLENGTH + 1)
    }
    if (line != "") {
        was_shown = shown
        block = block (shown ? "    " line : text(line))
    }
    was_blank = line == ""
    block = block "\n"
}

# What a status is, in the comment of a function that returns one.
function add_status(    at)
{
    if (!index(block, "@par Errors\n"))
        block = block "\n@par Errors\nSBN_INVALID_ARGUMENT: an argument is wrong.\n"
    at = index(block, "@par Errors\n")
    block = substr(block, 1, at - 1) "@par Return value\n" \
        "SBN_SUCCESS, or a negative status; sbn_last_error() has the sentence.\n\n" substr(block, at)
}

# Ends the block; `next_line` is what follows it.
function flush_block(next_line)
{
    of_header = !blocks++ || next_line ~ /^$/
    if (next_line ~ /^SBN_API int / && !index(block, "@par Return value\n"))
        add_status()
    printf "%s/**%s\n%s%s*/\n", indent, of_header ? " @file" : "", block, indent
    closed = 0
}

FNR == 1 { blocks = 0; open = closed = 0 }

closed { flush_block($0) }

open || /^ *\/\*/ {
    line = $0
    if (!open) {
        indent = line
        sub(/\/.*/, "", indent)
        sub(/^ *\/\*/, "", line)
        block = ""
        was_shown = 0
        was_blank = 1
    } else {
        sub(/^ *\*/, "", line)
        if ($0 ~ /^ *\*\/$/)
            line = "/"
    }
    open = line !~ /\*\/$/ && line != "/"
    closed = !open
    sub(/ *(\*\/|^\/)$/, "", line)
    sub(/^ /, "", line)
    if (line != "" || (open && block != ""))
        add(line)
    next
}

# Behind code, perhaps over several lines.
behind || /[;,{a-zA-Z0-9] +\/\*/ {
    line = $0
    if (!behind) {
        code = line
        sub(/\/\*.*/, "", code)
        line = substr(line, length(code) + 3)
        printf "%s/**<", code
    }
    behind = line !~ /\*\/$/
    sub(/\*\/$/, "", line)
    print text(line) (behind ? "" : "*/")
    next
}

{ print }

END { if (closed) flush_block("") }
