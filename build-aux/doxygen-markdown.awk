# Documents as doxygen reads them: headings have anchors, and links to public headers lead to their
# pages. All documents together have one set of anchors, so each begins with its file's name.

function anchor(file, heading)
{
    sub(/.*\//, "", file)
    sub(/\.md$/, "", file)
    heading = tolower(heading)
    gsub(/[^a-z0-9 _-]/, "", heading)
    gsub(/ /, "-", heading)
    return file "-" heading
}

/^(```|    )/ { code = /^```/ ? !code : code }

/^##+ / && !code {
    heading = $0
    sub(/^#+ +/, "", heading)
    $0 = $0 " {#" anchor(FILENAME, heading) "}"
}

{
    while (match($0, /\]\([a-zA-Z_\/.-]*#[a-z0-9_-]+\)/)) {
        target = substr($0, RSTART + 2, RLENGTH - 3)
        split(target, part, "#")
        $0 = substr($0, 1, RSTART + 1) "@ref " anchor(part[1] == "" ? FILENAME : part[1], part[2]) \
            substr($0, RSTART + RLENGTH - 1)
    }
    # Doxygen shows no code in the text of these links.
    while (match($0, /\[[^][]*\]\([.\/]*include\/[a-z_\/-]+\.h\)/)) {
        link = substr($0, RSTART, RLENGTH)
        gsub(/`/, "", link)
        gsub(/</, "\\&lt;", link)
        sub(/\]\(.*include\//, "](@ref ", link)
        $0 = substr($0, 1, RSTART - 1) link substr($0, RSTART + RLENGTH)
    }
    print
}
