import type { AddressCodec } from '@opentill/chain/address-codec';
import { FAMILIES, NETWORK_KINDS } from '@opentill/domain/chains';
import { publicKeysOf, readPublicKeys } from './public-keys.ts';
import { walletError } from './wallet-error.ts';

/**
 * An attacker who can write this file could redirect every deposit, so it must belong to the seed. It may lack hot
 * wallets, as older files do, but contain no foreign one. Does not zero `seed`. @throws PUBLIC_KEYS_OF_ANOTHER_SEED
 * (names the fields, repeats no key), FILE_UNREADABLE, PUBLIC_KEYS_INVALID
 */
export async function requireMatchingPublicKeys(
  path: string,
  seed: Uint8Array,
  codecs: readonly AddressCodec[],
): Promise<void> {
  const own = publicKeysOf(seed, codecs);
  const file = await readPublicKeys(path, codecs);
  const known = codecs.map(({ family }) => family);
  const different = [
    ...(file.fingerprint === own.fingerprint ? [] : ['fingerprint']),
    ...NETWORK_KINDS.flatMap((kind) =>
      FAMILIES.flatMap((family) => {
        const [given, right] = [file[kind]?.[family], own[kind]?.[family]];
        if (given === undefined) return []; // a file of version 1
        const isForeign =
          known.includes(family) && given.hotWallets.some((address) => !right?.hotWallets.includes(address));
        const name = kind === 'main' ? family : `test ${family}`;
        return [
          ...(given.depositXpub === right?.depositXpub ? [] : [`${name}.depositXpub`]),
          ...(isForeign ? [`${name}.hotWallets`] : []),
        ];
      }),
    ),
  ];
  if (different.length === 0) return;
  throw walletError(
    'PUBLIC_KEYS_OF_ANOTHER_SEED',
    `${path} does not belong to this keystore: ${different.join(', ')} differ. The gateway has no keys of the addresses derived from it. ` +
      'Accept no payments until opentill keys show-xpub shows the same keys for both.',
    { path, different },
  );
}
