# HEALTHCHECK of every service image, without the 45 MB and 50 ms of a Node process; the images have no curl.
# Healthy if /readyz, or the path of the argument, answers 200. docker inspect shows the answer.
path=${1:-/readyz}
port=${HEALTH_PORT:-3020}
exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$path" >&3
IFS=' ' read -r -t 8 -u 3 _ status _ || exit 1
while IFS= read -r -t 8 -u 3 line && [ "$line" != $'\r' ]; do :; done
IFS= read -r -t 8 -u 3 -d '' body
printf '%s' "$body"
[ "$status" = 200 ]
