set -eu
keys=/var/lib/opentill/keys
public=/var/lib/opentill/public/public-keys.json
passphrase=/run/secrets/keystore_passphrase
if [ ! -s "$public" ]; then
  rm -f "$keys"/*.json # left by an interrupted start
  opentill keys init --keystore "$keys/keystore.json" --public-keys "$keys/public-keys.json" \
    --passphrase-file "$passphrase" >/dev/null
  opentill policy seal /etc/opentill/policy.json --keystore "$keys/keystore.json" --out "$keys/policy.sealed.json" \
    --passphrase-file "$passphrase"
  cp "$keys/public-keys.json" "$public.partial"
  chmod 0644 "$public.partial"
  mv "$public.partial" "$public" # last, because other containers wait for it
fi
echo "devnet wallet: $public"
