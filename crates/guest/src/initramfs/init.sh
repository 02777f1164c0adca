#!/bin/busybox sh
# The first program of a guest: mounts what programs expect, runs /command or a shell for a user,
# and switches off.
# One program for three file systems, if this busybox can.
/bin/busybox mount -a -T /mounts || {
  /bin/busybox mount -t proc proc /proc
  /bin/busybox mount -t sysfs sys /sys
  /bin/busybox mount -t devtmpfs dev /dev
}
export PATH=/bin HOME=/tmp
# The shell of busybox runs its own tools before programs of their names.
shell=sh
[ ! -e /bin/dash ] || shell=/bin/dash
if [ -e /command ]; then
  stty -opost < /dev/tty1
  echo drivelab-begin > /dev/tty1
  # Through a pipe: a program that sees a terminal may draw on it, which takes real time.
  {
    $shell /command > /dev/tty1 < /dev/null
    echo "drivelab-end $?" > /dev/tty1
  } 2>&1 | cat > /dev/console
else
  # What `poweroff`, `halt` and `reboot` send: only this script switches off in the right order.
  trap : USR1 USR2 TERM
  setsid sh -c "exec $shell -l < /dev/tty0 > /dev/tty0 2>&1" &
  wait $!
  kill -9 -1
  grep '^/dev/[sv]da' /proc/mounts | while read -r _ folder _; do umount "$folder"; done
fi
# While a bus goes away under a driver that still has requests, they are tried again without end.
for device in /sys/bus/pci/drivers/*/0*; do
  [ ! -e "$device" ] || echo "${device##*/}" > "${device%/*}/unbind"
done
busybox poweroff -f
