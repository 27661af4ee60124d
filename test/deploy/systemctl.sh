#!/bin/bash
# systemctl in a chroot, where systemd cannot be the first process. Starts laurel.service as the unit says, as far as
# util-linux can: user, environment, umask, descriptors, capabilities, a root file system that is read-only but for the
# folders of the unit, a private /tmp. Not the filter of system calls. nginx and Prometheus start as their packages start them.
set -eu
unit=/etc/systemd/system/laurel.service
log=/var/log/laurel.log

values() { sed -n "s/^$1=//p" "$unit" /etc/systemd/system/laurel.service.d/*.conf 2> /dev/null; }
value() { values "$1" | tail -n 1; }

start_laurel() {
  local user environment=() paths=() descriptors file
  user=$(value User)
  install --directory --owner="$user" --group="$(value Group)" --mode="$(value StateDirectoryMode)" "/var/lib/$(value StateDirectory)"
  mapfile -t environment < <(values Environment | tr ' ' '\n')
  file=$(value EnvironmentFile)
  mapfile -t -O "${#environment[@]}" environment < <(grep -v '^#' "${file#-}")
  for path in "/var/lib/$(value StateDirectory)" $(values ReadWritePaths); do
    if [ "${path#-}" = "$path" ] || [ -e "${path#-}" ]; then paths+=("${path#-}"); fi
  done
  # systemd may raise the bound of the machine; root of a container may not.
  descriptors=$(value LimitNOFILE)
  [ "$(ulimit -Hn)" = unlimited ] || descriptors=$((descriptors < $(ulimit -Hn) ? descriptors : $(ulimit -Hn)))
  [ "$(value ProtectSystem) $(value PrivateTmp) $(value NoNewPrivileges) $(value CapabilityBoundingSet)" = "strict yes yes " ]
  # shellcheck disable=SC2016
  setsid unshare --mount bash -euc '
    for path in $1; do mount --bind "$path" "$path"; done
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    mount -o remount,bind,ro /
    cd "$2"; umask "$3"; shift 3
    exec "$@"' bash "${paths[*]}" "$(value WorkingDirectory)" "$(value UMask)" \
    env --ignore-environment PATH=/usr/bin:/bin "${environment[@]}" \
    prlimit --nofile="$descriptors:$descriptors" \
    setpriv --reuid="$user" --regid="$(value Group)" --init-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    $(value ExecStart) < /dev/null >> "$log" 2>&1 &
  echo $! > /run/laurel.pid
}

stop_laurel() {
  local pid
  pid=$(cat /run/laurel.pid)
  [ "$(value KillSignal)" = SIGTERM ]
  kill -TERM "$pid"
  tail --pid="$pid" -f /dev/null
}

case "$*" in
  daemon-reload) ;;
  "enable --now laurel" | "start laurel") start_laurel ;;
  "stop laurel") stop_laurel ;;
  "restart laurel") stop_laurel && start_laurel ;;
  "reload nginx") nginx -s reload ;;
  "restart nginx")
    if [ -s /run/nginx.pid ]; then nginx -s quit; tail --pid="$(cat /run/nginx.pid)" -f /dev/null; fi
    nginx
    ;;
  "restart prometheus")
    setsid runuser -u prometheus -- prometheus --config.file=/etc/prometheus/prometheus.yml \
      --storage.tsdb.path=/var/lib/prometheus/metrics2 --web.listen-address=127.0.0.1:9090 < /dev/null >> /var/log/prometheus.log 2>&1 &
    ;;
  *)
    echo "systemctl $*: not known to this test" >&2
    exit 1
    ;;
esac
