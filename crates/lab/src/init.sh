#!/bin/busybox sh
# The first program of a guest: mounts what programs expect, runs /command, and switches off.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mkdir -p /usr /sbin
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
stty -opost < /dev/tty1
echo drivelab-begin > /dev/tty1
sh /command > /dev/tty1 2> /dev/console < /dev/null
echo "drivelab-end $?" > /dev/tty1
poweroff -f
