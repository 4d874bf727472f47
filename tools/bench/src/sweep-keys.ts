import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { depositBranch, depositXpub, seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';

/** A fresh hot wallet with deposit addresses that its keystore signs for. */
export interface SweepKeys {
  readonly signer: KeystoreSigner;
  readonly wallet: Address;
  readonly deposits: readonly Address[];
}

/** Makes them in `dir`, so many deposit addresses. */
export async function makeSweepKeys(dir: string, codec: AddressCodec, count: number): Promise<SweepKeys> {
  const seed = seedOf(generateMnemonic());
  const passphrase = randomBytes(16).toString('hex');
  const keystoreFile = join(dir, `keystore-${passphrase.slice(0, 8)}.json`);
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, passphrase);
  const signer = await openKeystoreSigner({ keystoreFile, passphrase, codecs: [codec], kind: 'test' });
  const branch = depositBranch(depositXpub(seed, codec.family, 'test'), 'test');
  const deposits = Array.from({ length: count }, (_, index) => {
    const address = codec.fromPublicKey(branch.derive(index).publicKey);
    if (!signer.admitDeposit(codec.family, index, address)) throw new Error(`${address} is not derived here`);
    return address;
  });
  const [wallet] = signer.addresses;
  if (wallet === undefined) throw new Error('the keystore has no wallet');
  return { signer, wallet, deposits };
}
