# Waits for the wallet's public keys; the steps and services behind this one need them.
file=/var/lib/opentill/public/public-keys.json
[ -s "$file" ] || echo "There is no wallet yet. Make one now: docker compose run --rm keys (it shows 24 words, once)."
seconds=0
until [ -s "$file" ]; do
  if [ "$seconds" -ge 120 ]; then
    echo "Still no wallet after two minutes: make one, then docker compose up again."
    exit 1
  fi
  sleep 1
  seconds=$((seconds + 1))
done
echo "public keys: $file"
