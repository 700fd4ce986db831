#!/usr/bin/env bash
# Builds the Containerfile from this commit and runs `make reproduce` in it, without a network, by podman or docker. Where
# neither works and we are root, its steps run in a bare Debian in FOLDER (debootstrap and chroot), which proves them too.
# usage: container.sh FOLDER [make's arguments...]      ONLY=family: the methods of one family
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "$1")
shift
export ONLY=${ONLY:-}
for engine in podman docker; do
  if "$engine" info >/dev/null 2>&1; then
    git archive HEAD | "$engine" build --tag retable --build-arg ONLY="$ONLY" --file Containerfile -
    exec "$engine" run --rm --network none retable make reproduce "$@"
  fi
done
echo "neither podman nor docker works here; the steps of the Containerfile run in $folder (debootstrap, chroot)"
[ -d "$folder/etc" ] || debootstrap --variant=minbase bookworm "$folder" http://deb.debian.org/debian >"$folder.log" 2>&1 \
  || { tail -5 "$folder.log" >&2; exit 1; }
cp /etc/resolv.conf "$folder/etc/"
rm -rf "$folder/retable"
mkdir "$folder/retable"
git archive HEAD | tar -x -C "$folder/retable"
mapfile -t steps < <(sed -n 's/^RUN //p' Containerfile)
# inside FLAG COMMAND: with the mounts of a container, which end with the shell that made them.
inside() {
  # shellcheck disable=SC2016  # the inner shell expands
  unshare --mount ${1:+"$1"} --fork bash -euo pipefail -c '
    mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
    export DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    cd "$1/retable"
    exec chroot "$1" sh -ec "cd /retable; $2"' bash "$folder" "$2"
}
for step in "${steps[@]}"; do
  echo "RUN $step"
  inside "" "$step"
done
inside --net "make reproduce${*:+ $(printf '%q ' "$@")}"
