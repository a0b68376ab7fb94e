#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Copyright (C) 2026 the gst-cuda-filters authors
#
# outputs.sh BUILD: runs each program and script that writes a file where it cannot or must not, and looks at what is
# left of the user's files. With --table it prints what each of them says. Ends with `N passed, N failed, N skipped`.

set -u
table=0 what=''
[ "${1:-}" != --table ] || { table=1; shift; }
build=$1 root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export CF_BUILD=$build CF_NO_INSTALL=1 GST_PLUGIN_PATH=$build/gst
unset DISPLAY WAYLAND_DISPLAY
passed=0 failed=0 skipped=0
cd "$dir" || exit 1
chmod 755 .

result () { # STATUS WHAT
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $2"
    cat said
  fi
}

skip () {
  skipped=$((skipped + 1))
  echo "SKIP $1"
}

# Prints names and contents of all files but `said`.
files () { find . -type f ! -name said -exec md5sum {} + | sort -k 2; }

# Prints a command without what the reader of the table need not see.
shorter () {
  sed 's/setpriv [^/]* \([/a-z]\)/(another user) \1/; s/ --size 64x48 .* --no-limits/ .../; s/bash -c \(.*\)/\1/
    s/until_said [^ ]* //' <<< "$1"
}

dull='^\{.*"type":"(ready|started|stopping|stopped)"|^(gst-launch|no display|writing|original|cuda|top|bottom)'
dull+='|^(no usable|tried|PSNR|blurred|not recursive|.*GStreamer 1| |$)'

# run COMMAND...: runs it, its words in `said`; fails as it does.
run () {
  "$@" > said 2>&1 < /dev/null
  status=$?
  [ $table = 0 ] || [ "$what" = good ] || sed "s|$build/pipelines/\(watch/\)*||g; s|$root/||g; s|$dir/||g
    s/{\"schema.*\"type\":/{...\"type\":/; s/, [0-9.]* frames.s *|$/ |/; s/ *|$/ |/" << END
| $what | \`$(shorter "$*")\` | $(grep -vE "$dull" said | head -n 2 | tr '\n' ' ') |
END
  return $status
}

# refuse WHAT WORDS COMMAND...: the command must fail, say WORDS, and leave all files as they are.
refuse () {
  local what=$1 words=$2 before
  shift 2
  before=$(files)
  run "$@"
  [ $status -ne 0 ] && [ $status -lt 128 ] && grep -qF -- "$words" said
  result $? "$what: '$*' is not refused with \"$words\" (status $status)"
  [ "$before" = "$(files)" ]
  result $? "$what: '$*' changed files: $(files)"
}

demo=("$build/pipelines/cf-demo" --frames 5)
effect=("$root/pipelines/effect.sh")
restore=("$root/pipelines/restore.sh")
bench=("$build/pipelines/bench" --size 64x48 --frames 5 --warm-up 0 --no-limits cudamedian)
regions=("$build/pipelines/cf-regions" --frames 5)
watch=("$build/pipelines/watch/cf-watch")
have_watch=1
[ -x "${watch[0]}" ] || { have_watch=0; skip "cf-watch is not built"; }
identify=("$build/pipelines/cf-identify" --window 2 --chart --blur gauss:1)
have_identify=1
/usr/bin/python3 -c 'import gi, numpy' || { have_identify=0; skip "cf-identify needs PyGObject and NumPy"; }

# ---- every program and script has the version of the project

version=$(sed -n "s/^  version : '\(.*\)',/\1/p" "$root/meson.build")
for program in "$build"/pipelines/{cf-demo,cf-diagnose,bench} "$root"/pipelines/{demo,effect,restore}.sh \
  "$root/tests/run.sh"; do
  "$program" --version > said 2>&1 && grep -q "^$(basename "$program") (gst-cuda-filters) $version\$" said
  result $? "$program --version"
done

# ---- what is shown of apt's and ninja's reports

bash -c '. "$0/pipelines/lib.sh"; cf_progress log' "$root" > said 2>&1 << 'END'
Waiting for cache lock: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)...
dlstatus:3:54.2:Retrieving file 3 of 5
pmstatus:meson:98.7:Installing meson
[5/20] cc x.c
error: no such thing
END
[ "$(tr '\n' ';' < said)" = '  waiting for process 7 (apt-get), which installs packages;  downloaded 54 %;'\
'  installed 98 %;  built 5 of 20;' ] && [ "$(cat log)" = 'error: no such thing' ]
result $? "progress"
rm log

# ---- a good run; the same by the line that is printed

what='good'
run "${demo[@]}" --output clip.avi
result $? "a test picture"
[ "$(echo ./*)" = "./clip.avi ./clip.png ./said" ]
result $? "a test picture: there are $(echo ./*)"
rm clip.png
cp clip.avi "it's \"one\" clip.avi"
run "${effect[@]}" kernel "it's \"one\" clip.avi" 'a "b".avi'
result $? "an effect"
mv 'a "b".avi' first
line=$(grep '^gst-launch' said)
bash -c "$line" > said 2>&1
cmp first 'a "b".avi'
result $? "the printed line writes another file"
rm -f first ./*\"*
for name in hide hide-motion; do # a mosaic would leave something of what it covers
  "${effect[@]}" --list | grep -A 1 "^  $name " | grep -q 'preset=fill'
  result $? "the effect $name hides for certain"
done
ROI=0.0,0.0,1.0,1.0 run "${effect[@]}" hide clip.avi hidden.mkv
gst-launch-1.0 -q filesrc location=hidden.mkv ! decodebin ! videoconvert ! video/x-raw,format=GRAY8 ! \
  filesink location=pixels && [ -s pixels ] && [ "$(od -An -v -tu1 -w1 pixels | sort -nu | wc -l)" -le 3 ]
result $? "nothing is left of what the effect hide covers"
rm -f hidden.mkv pixels
printf '{ "no": "filter" }' > keep.json
echo 'a film of the user' > keep.mkv
cp keep.mkv keep.avi
ln -s clip.avi link.avi
ln clip.avi hard.avi

# ---- wrong files

refuse 'no such input' 'no file "none.avi"' "${demo[@]}" none.avi out.avi
refuse 'no such input' 'no readable file' "$root/pipelines/demo.sh" none.avi
refuse 'no such input' 'no file "none.avi"' "${effect[@]}" blur none.avi out.avi
refuse 'no such input' 'no file "none.avi"' "${restore[@]}" gauss:1.5 none.avi out.avi
refuse 'input is no video' 'error: keep.json' "${demo[@]}" keep.json out.avi
refuse 'input is a folder' 'is a folder' "${demo[@]}" . out.avi
refuse 'coefficients are none' 'keep.json' "${restore[@]}" keep.json clip.avi out.avi
refuse 'wrong blur' '"gauss:" is no blur' "${restore[@]}" gauss: clip.avi out.avi
refuse 'wrong blur' '"gauss:soft" is no blur' "${restore[@]}" gauss:soft clip.avi out.avi
refuse 'wrong blur' '"motion:9:0:1" is no blur' "${restore[@]}" motion:9:0:1 clip.avi out.avi
refuse 'wrong ending' '.mp4, .mkv, .webm or .avi' "${effect[@]}" blur clip.avi out.mov
refuse 'wrong filter' 'no element "cudamedia"' "${demo[@]}" --filter cudamedia --output keep.mkv --force
refuse 'wrong effect' 'no effect "bluhr"' "${effect[@]}" bluhr clip.avi out.avi
refuse 'wrong filter' 'no element "cudamedia"' "${bench[@]}" cudamedia --json keep.json --force

what=good
for line in 'demo.sh --fast' 'demo.sh none.avi' 'demo.sh --frames' 'effect.sh bluhr' 'effect.sh' 'restore.sh gauss: x' \
  'restore.sh none.json x'; do
  read -ra line_words <<< "$line"
  run "$root/pipelines/${line_words[0]}" "${line_words[@]:1}"
  [ $status = 2 ]
  result $? "$line: status $status"
done
refuse 'wrong argument' 'usage: run.sh' "$root/tests/run.sh" --fast
refuse 'wrong argument' 'it takes no arguments' "$build/pipelines/cf-diagnose" clip.avi
refuse 'no such input' '"none.avi" cannot be read' "${regions[@]}" none.avi
refuse 'input is no video' 'keep.json: Could not' "${regions[@]}" keep.json
refuse 'input is a folder' 'is a directory' "${regions[@]}" .
refuse 'wrong filter' 'no cudasegment is in this line' "${regions[@]}" --filter cudamedian clip.avi
refuse 'wrong number' '--largest -1: expected 0 or more' "${regions[@]}" --largest -1 clip.avi
refuse 'wrong number' '--frames -1: expected 0' "${demo[0]}" --frames -1 --output out.avi
refuse 'wrong number' '--noise -1: expected 0 to 100' "${demo[@]}" --noise -1 --output out.avi
refuse 'wrong number' '--noise nan: expected 0 to 100' "${demo[@]}" --noise nan --output out.avi
if [ $have_identify = 1 ]; then
  refuse 'input is a folder' 'is a folder' "${identify[@]:0:3}" --blur gauss:1 --output out.json .
  refuse 'input is no image' 'Could not determine type of stream.' "${identify[@]:0:3}" --blur gauss:1 keep.json
  ! grep -q package said
  result $? 'input is no image: no package helps'
fi

# cameras FILE MORE-OF-THE-CAMERA MORE: writes a file for cf-watch with a test picture.
cameras () {
  printf '{ "cameras": { "door": { "source": "test:ball", "width": 64, "height": 48%s } }%s }\n' "$2" "$3" > "$1"
}

# until_said WORDS COMMAND...: ends the command by SIGINT when it has said that, or after 20 s.
until_said () {
  local words=$1 pid i
  shift
  "$@" &
  pid=$!
  for ((i = 0; i < 400; i++)); do
    ! grep -q -- "$words" said || break
    read -rt 0.05 _ <> <(:)
  done
  kill -INT $pid
  wait $pid
}

if [ $have_watch = 1 ]; then
  cameras wrong.json ', "filter": "cudamedia"' ''
  cameras open.json '' ', "secrets": "keep.json"'
  refuse 'no such input' 'No such file' "${watch[@]}" none.json
  refuse 'input is a folder' 'Is a directory' "${watch[@]}" .
  refuse 'input is no JSON' 'clip.avi: ' "${watch[@]}" clip.avi
  refuse 'wrong setting' 'keep.json:1: no: there is no such setting' "${watch[@]}" keep.json
  refuse 'wrong filter' 'no element "cudamedia"' "${watch[@]}" --check wrong.json
  refuse 'secrets that others can read' 'chmod 600' "${watch[@]}" --check open.json
  rm wrong.json open.json
fi

# ---- files that exist

refuse 'output exists' '--force replaces it' "${demo[@]}" --output keep.mkv
refuse 'output exists' '--force replaces it' "$root/pipelines/demo.sh" --output keep.mkv
refuse 'output exists' '--force replaces it' "${effect[@]}" blur clip.avi keep.mkv
refuse 'output exists' '--force replaces it' "${restore[@]}" gauss:1.5 clip.avi keep.avi
refuse 'output exists' '--force replaces it' "${bench[@]}" --json keep.json
mkfifo pipe.avi
refuse 'output is a pipe' 'not a file but' "${bench[@]}" --json pipe.avi --force
refuse 'output is a pipe' 'not a file but' "${demo[@]}" clip.avi pipe.avi --force
refuse 'output is a pipe' 'not a file but' "${identify[@]}" --output pipe.avi --force
rm pipe.avi
refuse 'output is the input' 'is the input' "${demo[@]}" clip.avi clip.avi --force
refuse 'a link is the input' 'is the input' "${effect[@]}" --force blur clip.avi link.avi
refuse 'the other link is the input' 'is the input' "${restore[@]}" --force gauss:1.5 clip.avi hard.avi
cp clip.avi in.avi.part
refuse 'FILE.part is the input' 'would be the input' "${demo[@]}" in.avi.part in.avi --force
refuse 'FILE.part is there' 'an earlier program has left' "${demo[@]}" --output in.avi
if [ $have_identify = 1 ]; then
  refuse 'output exists' '--force replaces it' "${identify[@]}" --output keep.json
  refuse 'output is the input' 'is the input' "${identify[@]:0:3}" clip.avi clip.avi --force --output clip.avi
fi
rm in.avi.part

# ---- files keep a quality: a second of noise is not squeezed into 2 Mbit/s

what='good'
for file in out.mkv out.webm out.avi; do
  run "${demo[0]}" --frames 30 --output $file && [ "$(stat -c %s $file)" -gt 1000000 ]
  result $? "$file is too small"
  rm -f out.*
done

# ---- folders that are not there or cannot be written

refuse 'no folder' 'there is no folder "none"' "${demo[@]}" --output none/out.avi
refuse 'no folder' 'there is no folder "none"' "${effect[@]}" blur clip.avi none/out.avi
refuse 'no folder' 'there is no folder "none"' "${bench[@]}" --json none/out.json
refuse 'no folder' 'there is no folder "none"' "${identify[@]}" --output none/out.json
refuse 'no folder' 'cannot be written' "$root/pipelines/demo.sh" --output none/out.avi
if [ $have_watch = 1 ]; then
  cameras socket.json '' ', "control": { "socket": "none/control" }'
  refuse 'no folder' 'control.socket' "${watch[@]}" socket.json
  rm socket.json
fi
as=() # as a user that may not write everywhere
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
mkdir closed && chmod 555 closed
if "${as[@]}" test -x "${demo[0]}" -a ! -w closed; then
  refuse 'no permission' 'the folder "closed" cannot be written' "${as[@]}" "${demo[@]}" --output closed/out.avi
  refuse 'no permission' 'the folder "closed" cannot be written' "${as[@]}" "${effect[@]}" blur clip.avi closed/out.mkv
  refuse 'no permission' 'the folder "closed" cannot be written' "${as[@]}" "${bench[@]}" --json closed/out.json
  refuse 'no permission' 'the folder "closed" cannot be written' "${as[@]}" "${identify[@]}" --output closed/out.json
  refuse 'no permission' 'cannot be written' "${as[@]}" env -C closed "$root/pipelines/demo.sh"
  refuse 'no permission' 'in which the project is built' env CF_BUILD="$dir/closed/build" "${as[@]}" \
    "$root/tests/run.sh"
  if [ $have_watch = 1 ]; then
    # The camera goes on, and recording is tried again later.
    cameras record.json ', "record": { "folder": "closed/records" }' ''
    what='no permission'
    before=$(files)
    run until_said recording-failed "${as[@]}" env XDG_STATE_HOME="$dir/none" "${watch[@]}" record.json
    [ $status = 0 ] && grep -q '"recording-failed","reason":".*/closed/records.*Permission denied' said
    result $? "cf-watch records where it cannot write"
    [ "$before" = "$(files)" ]
    result $? "cf-watch changed files: $(files)"
    rm record.json
  fi
  mkdir -m 777 open
  refuse 'no permission' 'in which the project is built' env CF_BUILD="$dir/closed/build" "${as[@]}" \
    "$root/pipelines/demo.sh" --output open/out.avi
else
  skip 'no permission: no other user can run the programs'
fi

# ---- no space: what was there stays, and FILE does not look complete

small () { # KILOBYTES COMMAND...: runs it where the folder `small` has 100 kB of which so many are taken
  unshare -rm bash -s "$@" << 'END'
mount -t tmpfs -o size=100k none small && head -c "$1"k /dev/zero > small/taken || exit 77
shift
"$@" < /dev/null
status=$?
cp small/out* kept/ 2> /dev/null
exit $status
END
}
no_space () { # OPTION COMMAND...
  local option=$1
  shift
  run small 100 "$@" "$option" small/out.json
  [ $status = 1 ] && grep -q 'cannot be written: No space' said
  result $? "no space for $option"
  [ -z "$(ls kept)" ]
  result $? "no space for $option: something is left"
}
mkdir -m 777 small kept
if unshare -rm true 2> /dev/null; then
  what='no space'
  run small 0 "${demo[@]}" --frames 200 --output small/out.avi
  [ $status = 1 ] && grep -qi 'space' said && grep -q '"small/out.avi.part" has what was written' said
  result $? "no space for a video"
  [ "$(ls kept)" = out.avi.part ]
  result $? "no space for a video: $(ls kept) is left"
  rm -f kept/*
  no_space --json "${bench[@]}"
  [ $have_identify = 0 ] || no_space --output "${identify[@]}"
else
  skip 'no space: no file system can be mounted'
fi
rm -r small kept
if [ -w /dev/full ]; then
  refuse 'no space' 'cannot be written: No space' bash -c "${regions[0]} clip.avi > /dev/full"
  refuse 'no space' 'cannot be written: No space' bash -c "${regions[0]} --json --interval 0 clip.avi > /dev/full"
  refuse 'no space' 'cannot be written: No space' bash -c "$build/pipelines/cf-diagnose > /dev/full"
  refuse 'no space' 'cannot be written: No space' bash -c "${bench[*]} > /dev/full"
  refuse 'no space' 'the output cannot be written' bash -c "${demo[0]} --help > /dev/full"
  refuse 'no space' 'the output cannot be written' bash -c "${bench[0]} --version > /dev/full"
  refuse 'no space' 'the output cannot be written' bash -c "${identify[0]} --version > /dev/full"
else
  skip 'no space for a list: there is no /dev/full'
fi
# A closed descriptor: no file that the program opens takes its place, and the list with it.
refuse 'no output' 'cannot be written: Bad file descriptor' bash -c "${regions[0]} --json --interval 0 clip.avi >&-"
refuse 'no output' 'cannot be written: Bad file descriptor' bash -c "${identify[0]} --version >&-"

# ---- no display

what='no display'
run "${demo[@]}"
grep -q 'no display here' said && [ -s cudafilters-demo.webm ] && [ -s cudafilters-demo.png ]
result $? "without a display"
before=$(files)
run "${effect[@]}" blur clip.avi
grep -q 'writing "cudafilters-demo-2.webm"' said
result $? "a second time without a display"
[ "$before" = "$(files | grep -v demo-2)" ]
result $? "the first file without a display has changed"
rm cudafilters-demo*

# ---- twice at once

exec 8> out.avi.part
flock 8
refuse 'twice at once' 'another program is writing it' "${demo[@]}" --output out.avi --force
refuse 'twice at once' 'another program is writing it' "${effect[@]}" --force blur clip.avi out.avi
exec 8>&-
rm out.avi.part
if [ $have_watch = 1 ]; then
  mkdir -m 700 own
  cameras socket.json '' ', "control": { "stdin": false, "socket": "own/control" }'
  "${watch[@]}" socket.json > first 2>&1 &
  pid=$!
  until [ -S own/control ] || ! kill -0 $pid 2> /dev/null; do read -rt 0.05 _ <> <(:); done
  what='twice at once'
  run "${watch[@]}" socket.json
  [ $status = 2 ] && grep -q 'another process listens on' said && [ -S own/control ]
  result $? "cf-watch twice at once"
  kill -INT $pid
  wait $pid && [ -z "$(ls own)" ]
  result $? "the first cf-watch of two: $(ls own) is left"
  rm -r own first socket.json
fi
# A file that another program makes meanwhile stays, and so does the result. The first line comes after the check.
{ read -r _; echo other > new.json; cat > said; } < <("${bench[@]}" --json new.json 2>&1)
grep -q 'the result stays in "new.json\.' said && [ "$(cat new.json)" = other ] && grep -q '"rows"' new.json.*
result $? "a file that appears during the measurement"
rm new.json*
if [ $have_identify = 1 ]; then # the first line comes after the first of three searches
  { read -r _; echo other > new.json; cat > said; } < <("${identify[@]}" --symmetry none --output new.json 2>&1)
  grep -q 'the result stays in "new.json\.' said && [ "$(cat new.json)" = other ] && grep -q '"m": 2' new.json.*
  result $? "a file that appears during the search"
  rm new.json*
fi

# ---- --force, and Ctrl-C

what='--force'

run "${demo[@]}" --output keep.avi --force && ! grep -q user keep.avi
result $? "--force"
ln -sf keep.mkv link.avi
run "${demo[@]}" --output link.avi --force
[ "$(cat keep.mkv)" = 'a film of the user' ] && [ ! -L link.avi ]
result $? "--force replaces a link, not the file that it names"
"${demo[0]}" --frames 1000000 --output long.avi > said 2>&1 &
pid=$!
until [ -s long.avi.part ] || ! kill -0 $pid 2> /dev/null; do read -rt 0.05 _ <> <(:); done # until there is a frame
kill -INT $pid
wait $pid && grep -q 'ended by Ctrl-C' said && [ -s long.avi ] && [ ! -e long.avi.part ]
result $? "Ctrl-C"
what='good'
run "${demo[@]}" --layout alone --filter identity long.avi again.avi
result $? "the file that Ctrl-C ended is not readable"

[ $table = 1 ] || echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
