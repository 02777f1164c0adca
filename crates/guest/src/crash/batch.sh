# Checks one cut after the other, each as if its guest had just been booted: the disk is exchanged
# after the line that ends a check. /crash/cuts calls `check_cut` for each, with its number, after it has
# put the lines that had been printed before the cut into $lines.
#
# Starting a program is what takes time in a guest: the shell does itself what it can.

# Notes what is mounted, and shared memory that outlives its processes.
note_state() {
  state=
  for of in /proc/mounts /proc/sysvipc/*; do
    while read -r line; do state="$state$line;"; done < "$of"
  done
}

# Ends what a check has left running; threads of the kernel have no file.
end_others() {
  for try in 1 2 3 4 5 6 7 8 9; do
    others=
    for at in /proc/[0-9]*; do
      [ -e "$at/exe" ] || continue
      case $own in *" ${at#/proc/} "*) ;; *) others="$others ${at#/proc/}" ;; esac
    done
    [ -n "$others" ] || return
    kill -9 $others
    busybox sleep 0.1
  done
}

# Notes what a check has left behind that cannot be removed. A file that is new or gone shows at its
# folder.
note_left() {
  left=
  end_others
  [ -z "$others" ] || { left="processes that cannot be ended"; return; }
  note_state
  [ "$state" = "$clean" ] || { busybox umount /mnt; note_state; }
  [ "$state" = "$clean" ] || { left="mounted file systems or shared memory"; return; }
  set -- /tmp/* /tmp/.[!.]* /tmp/..?*
  [ "$*" = "/tmp/* /tmp/.[!.]* /tmp/..?*" ] || busybox rm -rf "$@"
  IFS=$line_end
  for of in $files; do
    [ ! "$of" -nt /crash/begun ] || left="a change of $of"
  done
  unset IFS
}

check_cut() {
  printf %s "$lines" > /acknowledged
  (. /crash/one)
  code=$?
  note_left
  printf '\ndrivelab-checked %s %s %s\n' "$1" "$code" "$left"
  [ -z "$left" ] || exit 0
}

own=" "
for at in /proc/[0-9]*; do
  [ ! -e "$at/exe" ] || own="$own${at#/proc/} "
done
note_state
clean=$state
: > /acknowledged
files=$(busybox find / /dev -xdev \( -path /tmp -o -path /crash -o -path /acknowledged \) -prune \
  -o ! -type l ! -type c ! -type b -print)
line_end='
'
: > /crash/begun
. /crash/cuts
