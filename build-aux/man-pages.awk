# Doxygen's man pages, one for each header and struct, as the pages that are installed: those, one
# for each function, and links for the other types. Variables: out, the folder to write to; version.

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

function end(see)
{
    section("SEE ALSO", see)
    close(page)
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
    sub(/ $/, "", text)
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
    section("DESCRIPTION", text["Function Documentation"])
    end(".BR " file_name(title) " (3)")
    head = ""
}

# syncbn_pass.h, of syncbn/pass.h.
function file_name(name)
{
    sub(/\//, "_", name)
    return name
}

# A type without a page of its own: a link to the header's page.
function link(line)
{
    gsub(/\\f[A-Z]|"|\(\*|\).*/, "", line)
    sub(/.* /, "", line)
    page = out "/" line ".3"
    print ".so man3/" file_name(title) ".3" > page
    close(page)
}

function end_page(    about)
{
    end_function()
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
    end(title ~ /h$/ ? ".BR syncbn.h (3)" : ".BR " file_name(include) " (3)")
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

now == "Typedef Documentation" && /^\.SS / || now ~ /^Enum/ && /^\.SS "enum \\f/ { link($0) }

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
}

END { end_page() }
