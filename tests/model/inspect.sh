#!/bin/sh
# syncbn inspect: its table and its JSON of files that PyTorch wrote, what looks wrong, its exit
# statuses. Environment: srcdir, SYNCBN (the command). Runs in the build directory.

. "${srcdir:=.}/tests/support/command.sh"

# inspect EXPECTED_STATUS ARGUMENTS...
inspect() {
    wanted=$1
    shift
    check "inspect ${*##*/}: exit status $wanted" run "$wanted" inspect "$@"
}

# line WORDS...: a line has exactly these words.
line() {
    awk -v wanted="$*" '{ $1 = $1 } $0 == wanted { found = 1 } END { exit !found }' "$work/out"
}

data=$srcdir/tests/model/data
inspect 0 "$data/network_f32.safetensors"
check 'the first layer' line '1 4 F32 0.5109 ... 1.029 -0.1025 ... 0.112 1.033 ... 1.208 3'
check 'the second' line '4.1 6 F32 0.5326 ... 1.479 -0.2495 ... 0.2874 0.7357 ... 0.7375 3'
check 'and no more' [ "$(wc -l < "$work/out")" -eq 3 ]
inspect 0 "$data/network_v1.safetensors"
check 'version 1: no count' line '1 4 F32 0.5109 ... 1.029 -0.1025 ... 0.112 1.033 ... 1.208 -'

inspect 1 "$data/troubled.safetensors"
names=$(awk 'NR > 1 { printf "%s ", $1 }' "$work/out")
check "in order: $names" [ "$names" = 'norm.2 norm.3 norm.4 norm.5 norm.6 norm.7 norm.8?[31m norm.10 ' ]
for wrong in 'norm.2 .* ! variance: negative in 1 of 2 channels' \
    'norm.3 .* 0  ! never trained: mean 0 and variance 1' \
    'norm.4 .* -  ! never trained: mean 0 and variance 1' \
    'norm.5 .* ! variance: 0 in 1 of 2 channels' \
    'norm.6 .* ! "norm.6.running_var": expected F32, F16 or BF16 of shape \[2\], got F32 of \[3\]' \
    'norm.7 .* ! mean: NaN or Inf in 2 of 2 channels; never trained: no batches tracked' \
    'norm.10 .* ! weight: NaN or Inf in 1 of 2 channels' \
    'norm.8?\[31m .* 123456'; do
    check "a line: $wrong" grep -q "^$wrong\$" "$work/out"
done

inspect 1 --json - "$data/troubled.safetensors"
check 'JSON: a range' grep -q '"min": -2.0,' "$work/out"
check 'JSON: a count' grep -q '"num_batches_tracked": 123456,' "$work/out"
check 'JSON: no count' grep -q '"num_batches_tracked": null,' "$work/out"
check 'JSON: a problem' grep -q '^ *"variance: negative in 1 of 2 channels"$' "$work/out"
tr -d '\n ' < "$work/out" > "$work/flat"
check 'JSON: two problems' grep -qF \
    '"problems":["mean:NaNorInfin2of2channels","nevertrained:nobatchestracked"]' "$work/flat"
check 'JSON: none' grep -qF '"problems":[]' "$work/flat"
check 'JSON: what is not finite' grep -q '"not_finite": 2' "$work/out"

inspect 1 "$data/folded.safetensors"
check 'statistics without a count of batches' grep -q '^conv.norm .* ! never trained: no batches tracked$' "$work/out"
# A weight without a bias, and the reverse: what is not there is not shown.
one() { # NAME OFFSET
    printf '"%s":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}' "$1" "$2" $(($2 + 4))
}
for name in weight bias; do
    header="{$(one a.$name 0),$(one a.running_mean 4),$(one a.running_var 8)}"
    printf "\\$(printf %03o ${#header})\000\000\000\000\000\000\000%s\000\000\000\077\000\000\000\077\000\000\000\077" \
        "$header" > "$work/some"
    shown=-
    [ $name = bias ] || shown='0.5 ... 0.5'
    inspect 0 "$work/some"
    check "with a $name alone, the weight" line "a 1 F32 $shown 0.5 ... 0.5 0.5 ... 0.5 -"
    inspect 0 --json - "$work/some"
    check 'JSON: what there is alone' [ "$(grep -oE '"(weight|bias)": ' "$work/out")" = "\"$name\": " ]
done
# A right-to-left override, a C1 control character, an isolate, an e, a face of four bytes.
header='{"a\u202e\u009b\u2066\u00e9\ud83d\ude00.running_mean":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a\u202e\u009b\u2066\u00e9\ud83d\ude00.running_var":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}'
printf "\\$(printf %03o ${#header})\000\000\000\000\000\000\000%s123456789012" "$header" > "$work/bidi"
inspect 1 --json - "$work/bidi"
check 'JSON has nothing that controls a terminal' [ -z "$(LC_ALL=C tr -d '[:print:]\n' < "$work/out")" ]
inspect 1 "$work/bidi"
check 'what turns a terminal round is not shown' grep -q '^a???é😀  .* ! "a???é😀.running_var": ' "$work/out"
# A colour and a right-to-left override in the name of a file: one that is cut, one that is missing.
odd=$(printf '%s/a\033[31mb\342\200\256c' "$work")
head -c 20 "$data/folded.safetensors" > "$odd"
for file in "$odd" "$odd.none"; do
    inspect 1 "$file"
    check 'nor in the name of a file' grep -q '^syncbn: .*/a?\[31mb?c' "$work/err"
    check 'nothing but printable characters' [ -z "$(LC_ALL=C tr -d '[:print:]\n' < "$work/err")" ]
done
# Several files: each under its name, and one that cannot be read is no end of it.
inspect 1 "$data/network_f32.safetensors" "$data/troubled.safetensors"
check 'each under its name' [ "$(grep -c '^[^ ]*/\(network_f32\|troubled\)\.safetensors:$' "$work/out")" -eq 2 ]
check 'and each with its layers' [ "$(grep -c '^layer ' "$work/out")" -eq 2 ]
inspect 1 "$work/none" "$data/network_f32.safetensors"
check 'one that is missing' grep -q '^syncbn: .*/none: opening it: No such file' "$work/err"
check 'the other is shown' grep -q '^layer ' "$work/out"
inspect 0 --json - "$data/network_f32.safetensors" "$data/network_v1.safetensors"
check 'JSON: two files' [ "$(grep -c '"file": ' "$work/out")" -eq 2 ]
inspect 1 --json - "$data/network_f32.safetensors" "$work/none"
check 'JSON: none, if one cannot be read' [ ! -s "$work/out" ]

odd=$(printf '%s/\303\244\377 \303' "$work")
cp "$data/network_f32.safetensors" "$odd"
inspect 0 --json - "$odd"
check 'JSON: what is not UTF-8 in a name is not shown' grep -q '"file": "/.*/\\u00E4? ?"' "$work/out"

printf '\002\000\000\000\000\000\000\000{}' > "$work/empty"
inspect 0 "$work/empty"
check 'a file without layers' grep -q 'no layer with running statistics' "$work/out"
printf '\003\000\000\000\000\000\000\000{}' > "$work/cut"
inspect 1 "$work/cut"
check 'a cut file' grep -q '^syncbn: .*/cut: its header is said to have 3 bytes, .*: the file is truncated$' "$work/err"

# What is no safetensors is named for what it is.
tar -cf "$work/file.tar" -C "$data" folded.safetensors
dd if=/dev/zero of="$work/zeros" bs=100 count=1 2> /dev/null
# These begin with what may be a header's length: gzip's without a name and a time, a name of one letter.
{ printf '\037\213\010\000\000\000\000\000\000\003'; head -c 600000 /dev/zero; } > "$work/piped.gz"
cp "$data/folded.safetensors" "$work/a"
tar -cf "$work/a.tar" -C "$work" a
printf '\002\000\000\000\000\000\000\000[]' > "$work/array"
inspect 1 "$work/array"
check 'of another one what is wrong is said' grep -q '/array: its header does not begin with {$' "$work/err"
convert='convert it with safetensors.torch.save_file'
zip='PK\003\004\000\000\010\010\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
# FILE|BYTES|KIND; %z stands for the head of an archive's first file, - for a file that is there.
while IFS='|' read -r file bytes kind; do
    case $bytes in
    -) ;;
    %z*) printf "$zip${bytes#%z}" > "$work/$file" ;;
    *) printf "$bytes" > "$work/$file" ;;
    esac
    inspect 1 "$work/$file"
    check "$file is $kind" grep -qxF "syncbn: $work/$file: expected a safetensors file, got $kind" "$work/err"
done << KINDS
nothing||an empty file
zip.pt|%z\\020\\000\\022\\000archive/data.pkl|a file of torch.save, a ZIP archive; $convert
arrays.npz|%z\\005\\000\\022\\000x.npy|a NumPy archive (.npz)
plain.zip|%z\\006\\000\\022\\000README|a ZIP archive
short.zip|PK\\003\\004|a ZIP archive
old.pt|\\200\\002\\212\\012\\154\\374\\234\\106\\371\\040\\152\\250\\120\\031.\\200\\002|a file of torch.save from before PyTorch 1.6; $convert
pickle2|\\200\\002}q\\000.|a Python pickle
pickle3|\\200\\003}q\\000.|a Python pickle
pickle4|\\200\\004}q\\000.|a Python pickle
pickle5|\\200\\005}q\\000.|a Python pickle
keras.h5|\\211HDF\\r\\n\\032\\n\\000\\000\\000|an HDF5 file, as Keras writes
array.npy|\\223NUMPY\\001\\000v\\000|a NumPy array
model.gguf|GGUF\\003\\000\\000\\000\\000\\000\\000\\000|a GGUF file
image.png|\\211PNG\\r\\n\\032\\n\\000\\000\\000\\rIHDR|a PNG image
image.jpg|\\377\\330\\377\\340\\000\\020JFIF|a JPEG image
paper.pdf|%%PDF-|a PDF document
program|\\177ELF\\002\\001\\001|an ELF program or library
model.tflite|\\034\\000\\000\\000TFL3\\024\\000\\040\\000|a TensorFlow Lite model
file.gz|\\037\\213\\010\\000\\000\\000\\000\\000\\000\\003|a file compressed by gzip
file.bz2|BZh91AY&SY|a file compressed by bzip2
file.xz|\\3757zXZ\\000\\000\\004|a file compressed by xz
file.zst|\\050\\265\\057\\375\\004\\000\\001\\002|a file compressed by zstd
pointer|version https://git-lfs.github.com/spec/v1\\noid sha256:00\\nsize 9\\n|a Git LFS pointer: the file itself has not been downloaded
page|<!DOCTYPE html>\\n<html>\\n|an HTML page
page_in_lower_case|<!doctype html>\\n<html>\\n|an HTML page
page_without_type|<html>\\n|an HTML page
index.json|{"metadata": {"total_size": 9}, "weight_map": {"a": "b"}}\\n|the index of several safetensors files; name one of those
list.json| [1, 2, 3, 4, 5]\\n|a JSON text
text|int f() {\\n\\treturn 1; /* \\303\\244 */\\n}\\n|a text
short|hi ~|a text
cut|abc \\360\\237\\230|a text
scripts|\\337\\277 and \\364\\217\\277\\277 beside them\\n|a text
blank|  \\t \\n\\r  \\n  \\n|a text
piped.gz|-|a file compressed by gzip
file.tar|-|a tar archive
a.tar|-|a tar archive
zeros|-|a file that begins with zeros
KINDS
# Bytes that are no UTF-8, and control characters that no text has.
for noise in '\377\376\001\002\003\004\005\006' '\001\002\003\004text' 'textual\177' 'text\377abc' \
    'text\037abc' '\001\002\003\000\000\000\000\177{"' '\000\037\000\037\000\037\000\037' \
    '\000\000\000\000\000\000\000\037' '\037\037\037\037\037\037\037\037' 'PK\003\005\006\007\010\011' 'textuals\000'; do
    printf "$noise" > "$work/noise"
    inspect 1 "$work/noise"
    check 'of what is nothing known the length is shown' grep -q '/noise: expected a safetensors '\
'file, got one of an unknown kind .*: its header would have [0-9]\{18,\} bytes, at most 1[0]* are allowed$' "$work/err"
done
inspect 2
check 'no name' grep -q 'inspect: expected a file' "$work/err"
echo "1..$count"
