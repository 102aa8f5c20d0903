# Doxygen's man pages, one for each header and struct, as the pages that are installed: those, one
# for each function and each enumeration, and links for constants, macros and the other types.
# Variables: out, the folder to write to; version.

function section(title, body)
{
    if (body !~ /[^ \n]/)
        return
    print ".SH \"" title "\"\n" body > page
}

# Without a date: the same sources give the same bytes.
function begin(name, what, include)
{
    page = out "/" name ".3"
    print ".TH \"" name "\" 3 \"\" \"syncbn " version "\" \"syncbn\"\n.ad l\n.nh" > page
    section("NAME", name " \\- " what)
    section("SYNOPSIS", ".nf\n.B #include <" include ">")
}

# Closes a page; its SEE ALSO is written when all pages are known.
function end(see, body)
{
    header[page] = see
    body_of[page] = body
    close(page)
}

# SEE ALSO: the header, and what a text names that has a page.
function see_also(    page, see, body, name, other)
{
    for (page in header) {
        see = ".BR " header[page] " (3)"
        body = body_of[page]
        while (match(body, /sbn_[a-z_]+/)) {
            name = substr(body, RSTART, RLENGTH)
            body = substr(body, RSTART + RLENGTH)
            other = out "/" name ".3"
            if (other in header && other != page && !index(see, " " name " "))
                see = see ",\n.BR " name " (3)"
        }
        print ".SH \"SEE ALSO\"\n" see >> page
        close(page)
    }
}

# Doxygen's paragraphs with a heading, which come last, as sections.
function sections(body)
{
    gsub(/\.PP *\n\\fBReturn value\\fP\n\.RS 4\n/, ".SH \"RETURN VALUE\"\n", body)
    gsub(/\.PP *\n\\fBErrors\\fP\n\.RS 4\n/, ".SH ERRORS\n", body)
    gsub(/\.RE\n(\.PP\n)?/, "", body)
    return body
}

# The first sentence of a text; of a long one, what stands before its colon.
function first_sentence(text)
{
    sub(/^[ \n]*(\.PP *)?[ \n]*/, "", text)
    sub(/\n[\n.].*/, "", text)
    if (match(text, /[^.](\\&\.|\?)[ \n]/))
        text = substr(text, 1, RSTART)
    if (length(text) > 90)
        sub(/[:;] .*/, "", text)
    gsub(/\\f[A-Z]/, "", text)
    gsub(/[ \n]+/, " ", text)
    sub(/:? $/, "", text)
    return text
}

# A prototype, one parameter in a line where it is long.
function prototype(text)
{
    gsub(/\\f[A-Z]|"/, "", text)
    sub(/^\.SS /, "", text)
    gsub(/\* +/, "*", text)
    gsub(/ \(/, "(", text)
    if (length(text) > 72) {
        sub(/\(/, "(\n    ", text)
        gsub(/, /, ",\n    ", text)
    }
    return text ";"
}

# What doxygen wrote of one function is its page.
function end_function(    name)
{
    if (head == "")
        return
    name = prototype(head)
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    begin(name, first_sentence(text["Function Documentation"]), title)
    print ".PP\n.ft B\n" prototype(head) "\n.ft R\n.fi" > page
    section("DESCRIPTION", sections(text["Function Documentation"]))
    end(file_name(title), head text["Function Documentation"])
    head = ""
}

# syncbn_pass.h, of syncbn/pass.h.
function file_name(name)
{
    sub(/\//, "_", name)
    return name
}

# What has no page of its own: a link to the page of its enumeration or header.
function link(line)
{
    gsub(/\\f[A-Z]|"|\(\*|\).*/, "", line)
    sub(/^\.SS #define /, "", line)
    sub(/\(.*|   .*| $/, "", line)
    sub(/.* /, "", line)
    page = out "/" line ".3"
    print ".so man3/" (enumeration == "" ? file_name(title) : enumeration) ".3" > page
    close(page)
}

# What doxygen wrote of one enumeration is its page.
function end_enumeration()
{
    if (enumeration != "") {
        begin(enumeration, first_sentence(enumeration_text), title)
        print ".fi" > page
        section("DESCRIPTION", enumeration_text)
        end(file_name(title), enumeration_text)
    }
    enumeration = enumeration_text = ""
}

function end_page(    about)
{
    end_function()
    end_enumeration()
    if (title == "")
        return
    about = text["Detailed Description"]
    begin(file_name(title), first_sentence(about), include)
    print ".fi" > page
    section("DESCRIPTION", about)
    section("FIELDS", text["Field Documentation"])
    section("FUNCTIONS", text["Functions"])
    section("STRUCTURES", text["Data Structures"])
    section("TYPES", text["Typedef Documentation"])
    section("ENUMERATIONS", text["Enumeration Type Documentation"])
    section("MACROS", text["Macro Definition Documentation"])
    end(title ~ /h$/ ? "syncbn.h" : file_name(include), about)
}

FNR == 1 {
    end_page()
    split("", text)
    title = include = $2
    gsub(/"/, "", title)
    gsub(/"/, "", include)
    now = ""
}

/#include/ && title !~ /h$/ {
    include = $2
    gsub(/[<>]|\\&|\\fP/, "", include)
}

# Headings: doxygen quotes them; those of the synopsis begin with a capital.
/^\.S[HS] "?[A-Z]/ {
    end_enumeration()
    now = $0
    gsub(/^\.S[HS] |"/, "", now)
    next
}

now == "Function Documentation" && /^\.SS / {
    end_function()
    head = $0
    text[now] = ""
    next
}

now ~ /^Enum/ && /^\.SS / {
    end_enumeration()
    if (/^\.SS "enum \\f/) {
        enumeration = $3
        gsub(/\\f[A-Z]|"/, "", enumeration)
        text[now] = text[now] $0 "\n"
        next
    }
}

now ~ /^(Typedef|Macro)/ && /^\.SS / || now ~ /^Enum/ && /^\\fB\\f[CI]SBN_/ { link($0) }

# What a macro stands for is in the header.
/^\\fBValue:/ { skip = 1 }
skip {
    skip = !/^\.fi/
    next
}

{
    sub(/sbn_[a-z_]*::/, "")
    gsub(/\\fC/, "\\fI")
    if (!literal)
        sub(/^ /, "")
    literal = /^\.nf/ || literal && !/^\.fi/
    text[now] = text[now] $0 "\n"
    if (enumeration != "")
        enumeration_text = enumeration_text $0 "\n"
}

END {
    end_page()
    see_also()
}
