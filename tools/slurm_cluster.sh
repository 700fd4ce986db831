#!/usr/bin/env bash
# A Slurm cluster of four nodes on this machine, for tests: slurmctld, four slurmd and munge with files and ports of their
# own; no running Slurm is touched. It ends with the command.
# usage: slurm_cluster.sh FOLDER COMMAND [ARGUMENTS...]     FOLDER: empty, the cluster's files
#   the command finds it by SLURM_CONF; $SLURM_CLUSTER/fail NODE ends a node as a power cut does
#   77: Slurm is not installed (Debian: slurm-wlm munge), and nothing was run
set -euo pipefail
nodes=4
folder=$(realpath "$1")
shift
PATH=$PATH:/usr/sbin
for program in slurmctld slurmd munged sbatch; do
  command -v "$program" >/dev/null || { echo "Slurm is not tested: there is no $program (Debian: slurm-wlm munge)" >&2; exit 77; }
done
# Slurm's refusals of a loopback or of a foreign name are avoided by the machine's own short name.
host=$(hostname -s)
port=$((20000 + $$ % 20000))
user=$(id -un)
chmod 755 "$folder" # munge refuses a socket that others cannot reach
mkdir -p "$folder"/{state,spool,log}
dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none
chmod 600 "$folder/munge.key"

{
  cat <<CONF
ClusterName=retable
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
# cred_expire is also how long a requeued job waits, by default two minutes.
AuthInfo=socket=$folder/munge.socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
SlurmdTimeout=300
KillWait=2
MinJobAge=600
ReturnToService=2
CONF
  for ((i = 1; i <= nodes; ++i)); do
    echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=1 State=UNKNOWN"
  done
  echo "PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE"
} >"$folder/slurm.conf"
export SLURM_CONF=$folder/slurm.conf SLURM_CLUSTER=$folder

# What a power cut leaves of a node: nothing. Its daemon, its jobs and the steps that hold them are killed at once.
cat >"$folder/fail" <<'FAIL'
#!/usr/bin/env bash
set -euo pipefail
victims=$(cat "$SLURM_CLUSTER/$1.pid" 2>/dev/null || true)
rm -f "$SLURM_CLUSTER/$1.pid"
for names in $(grep -szlx "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ); do
  grep -szqx "SLURMD_NODENAME=$1" "$names" || continue
  process=${names%/environ}
  parent=$(sed -n 's/^PPid:\t//p' "$process/status" 2>/dev/null) || continue
  grep -sq '^slurmstepd' "/proc/$parent/comm" && victims+=" $parent"
  victims+=" ${process#/proc/}"
done
kill -KILL $victims 2>/dev/null || true
FAIL
chmod +x "$folder/fail"

stop() {
  scancel --user="$user" 2>/dev/null || true
  for ((i = 1; i <= nodes; ++i)); do "$folder/fail" "node$i" || true; done
  for daemon in slurmctld munged; do
    [ -e "$folder/$daemon.pid" ] && kill -KILL "$(cat "$folder/$daemon.pid")" 2>/dev/null || true
  done
}
trap stop EXIT

munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --log-file="$folder/log/munged" --seed-file="$folder/munge.seed"
slurmctld -c
for ((i = 1; i <= nodes; ++i)); do slurmd -N "node$i"; done
for ((try = 0; ; ++try)); do
  [ "$(sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | wc -l)" -eq $nodes ] && break
  [ $try -lt 150 ] || { echo "the nodes of the Slurm cluster did not come up:" >&2; tail -n 5 -- "$folder"/log/* >&2; exit 1; }
  sleep 0.2
done
"$@"
