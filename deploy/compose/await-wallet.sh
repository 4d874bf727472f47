# Waits for the wallet's public keys, which later steps and services need.
file=/var/lib/opentill/public/public-keys.json
[ -s "$file" ] || echo "There is no wallet yet. Make one now: docker compose run --rm keys (it shows 24 words, once)."
seconds=0
until [ -s "$file" ]; do
  if [ "$seconds" -ge 120 ]; then
    echo "No wallet after 120 s. Make one, then run docker compose up again."
    exit 1
  fi
  sleep 1
  seconds=$((seconds + 1))
done
echo "public keys: $file"
