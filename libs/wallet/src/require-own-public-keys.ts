import type { AddressCodec } from '@opentill/chain/address-codec';
import { FAMILIES, NETWORK_KINDS } from '@opentill/domain/chains';
import { publicKeysOf, readPublicKeys } from './public-keys.ts';
import { walletError } from './wallet-error.ts';

/**
 * Holds the file that deposit addresses are derived from against the seed: whoever can write that file could have every
 * deposit paid to keys of his own, or to nobody's. It may name fewer hot wallets than the seed has, as a file of before does,
 * and none that is not the seed's. Does not zero `seed`.
 *
 * Throws PUBLIC_KEYS_OF_ANOTHER_SEED, which says what differs and repeats no key; FILE_UNREADABLE, PUBLIC_KEYS_INVALID.
 */
export async function requireOwnPublicKeys(
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
    `${path} is not of this keystore, by its ${different.join(', ')}: nobody here has the keys of the addresses that are derived from it. ` +
      'Compare both by opentill keys show-xpub; until then let nobody pay.',
    { path, different },
  );
}
