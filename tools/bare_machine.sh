#!/usr/bin/env bash
# Does what a new user does on a bare Debian 12 or Ubuntu 24.04: a root folder with nothing but the base system, a user
# with sudo, `apt-get install git make`, a clone of this commit, `make reproduce`. Each line bears the seconds since
# the start and how busy the machine is (its load). Needs root, debootstrap and the distribution's archive.
# usage: bare_machine.sh bookworm|noble FOLDER [make's arguments, reproduce if none...]
set -euo pipefail
suite=$1 root=$(realpath -m "$2")
shift 2
[ $# -gt 0 ] || set -- reproduce
here=$(cd "$(dirname "$0")/.." && pwd)
say() { while IFS= read -r line; do printf '%5d s  load %s  %s\n' $((SECONDS - start)) "$(cut -d' ' -f1 /proc/loadavg)" "$line"; done; }

case "$suite" in
  bookworm) set_up=(debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian) ;;
  # A Debian host has neither Ubuntu's keys nor, before Debian 13, the name of this release.
  noble) set_up=(debootstrap --variant=minbase --no-check-gpg "--components=main,universe" noble "$root"
                 http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/gutsy) ;;
  *) echo "bookworm or noble, not $suite" >&2; exit 1 ;;
esac
[ -d "$root/etc" ] || "${set_up[@]}" >"$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
cp /etc/resolv.conf "$root/etc/"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"  # sudo looks for the host's name
rm -rf "$root/home/new"
mkdir -p "$root/home/new"
git clone -q "file://$here" "$root/home/new/retable"

start=$SECONDS
# shellcheck disable=SC2016  # the inner shell expands
# The mounts end with the shell that made them.
unshare --mount --fork bash -euo pipefail -c '
  root=$1; shift
  mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
  export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
  chroot "$root" sh -ec "
    apt-get update -qq; apt-get install -y -qq --no-install-recommends git make sudo >/dev/null 2>&1
    id new >/dev/null 2>&1 || useradd new; chown -R new /home/new
    echo \"new ALL=(ALL) NOPASSWD:ALL\" >/etc/sudoers.d/new"
  echo "git and make are installed"
  chroot "$root" su new -s /bin/bash -c "export HOME=/home/new; cd ~/retable; make $* 2>&1"' bash "$root" "$@" 2>&1 | say
