# Stripes of a RAID 5 of three disks with chunks of 64 KiB: a block of each is overwritten, and the rest
# of it is data that is not written.
#
#   stripes.sh prepare | write | check
set -e
stripes=32
block=4096
every=32                       # blocks of data in a stripe

fill() { # the first contents of all stripes
  seq 1000000 9999999 2> /dev/null | head -c $((stripes * every * block))
}

overwritten() { # the new contents of a block, by number
  yes "$(printf 'block %05d of the workload' "$1")" | head -c $block
}

hide() { # the blocks that are overwritten, in a copy of all stripes
  for stripe in $(seq 0 $((stripes - 1))); do
    dd if=/dev/zero of="$1" bs=$block count=1 seek=$((stripe * every)) conv=notrunc 2> /dev/null
  done
}

case $1 in
  prepare)
    fill | dd of="$DISK" bs=64k iflag=fullblock conv=notrunc,fsync
    ;;
  write)
    for stripe in $(seq 0 $((stripes - 1))); do
      overwritten "$stripe" | dd of="$DISK" bs=$block seek=$((stripe * every)) iflag=fullblock \
        conv=notrunc,fsync 2> /dev/null
      echo "$stripe"
    done
    ;;
  check)
    dd if="$DISK" of=/tmp/there bs=64k count=$((stripes * every * block / 65536)) 2> /dev/null
    for stripe in $(cat /acknowledged); do
      overwritten "$stripe" > /tmp/new
      dd if=/tmp/there bs=$block skip=$((stripe * every)) count=1 2> /dev/null | cmp -s - /tmp/new || {
        echo "block $stripe was acknowledged, and is not there"
        exit 1
      }
    done
    hide /tmp/there
    fill > /tmp/before
    hide /tmp/before
    cmp -s /tmp/there /tmp/before || {
      echo "data that was not written is damaged: $(cmp /tmp/there /tmp/before 2>&1 | tail -n 1)"
      exit 2
    }
    ;;
esac
