# PostgreSQL and MariaDB for the tests: the servers that answer on their usual ports, else private ones until the end.
home=$(mktemp -d)
chmod 755 "$home"
ends=()
trap 'for end in "${ends[@]}"; do $end || true; done; rm -rf "$home"' EXIT
: "${TEST_POSTGRESQL_PORT:=5432}" "${TEST_MYSQL_PORT:=3306}"

until_it_answers() { for _ in {1..300}; do answers "$1" && return; sleep 0.1; done; echo "nothing answers on port $1" >&2; return 1; }

if ! answers "$TEST_POSTGRESQL_PORT"; then
  programs=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -1)")
  install -d -o postgres "$home/postgresql"
  as_postgres() { (cd / && runuser -u postgres -- "$@"); }
  as_postgres "$programs/initdb" -A trust -D "$home/postgresql/data" >/dev/null
  as_postgres "$programs/pg_ctl" -w -D "$home/postgresql/data" -l "$home/postgresql/log" \
    -o "-p 55432 -k $home/postgresql -c listen_addresses=127.0.0.1" start >/dev/null
  stop_postgresql() { as_postgres "$programs/pg_ctl" -m immediate -D "$home/postgresql/data" stop >/dev/null; }
  ends+=(stop_postgresql)
  as_postgres "$programs/createdb" -h 127.0.0.1 -p 55432 test
  export TEST_POSTGRESQL_URL=postgres://postgres@127.0.0.1:55432/test
fi

if ! answers "$TEST_MYSQL_PORT"; then
  install -d -o mysql "$home/mariadb"
  mariadb-install-db --no-defaults --user=mysql --datadir="$home/mariadb/data" \
    --auth-root-authentication-method=normal >/dev/null 2>&1
  mariadbd --no-defaults --user=mysql --datadir="$home/mariadb/data" --socket="$home/mariadb/socket" \
    --pid-file="$home/mariadb/pid" --port=53306 --bind-address=127.0.0.1 >"$home/mariadb/log" 2>&1 &
  mariadb=$!
  stop_mariadb() { kill "$mariadb" && wait "$mariadb"; }
  ends+=(stop_mariadb)
  until_it_answers 53306
  mariadb --no-defaults --socket="$home/mariadb/socket" -uroot -e 'CREATE DATABASE IF NOT EXISTS test'
  export TEST_MYSQL_URL=mysql://root@127.0.0.1:53306/test
fi
