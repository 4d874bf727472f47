import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@opentill/chain/address-codec';
import { evmFamily } from '@opentill/chain-evm/family';
import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import type { Family } from '@opentill/domain/chains';
import {
  depositBranch,
  depositXpub,
  hotWalletPrivateKey,
  seedFingerprint,
} from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';

export const PASSPHRASE = 'a passphrase of the tests';
export const CODECS = {
  EVM: evmFamily.addressCodec,
  TRON: tronFamily.addressCodec,
  SUI: suiFamily.addressCodec,
};

export interface TestKeys {
  readonly keys: KeystoreSigner;
  readonly keystoreFile: string;
  readonly wallet: Address;
  readonly walletKey: string;
  depositAddress(index: number): Address;
}

/** Shared by the worlds of a process, because scrypt takes 0.5 s. */
let shared: ReturnType<typeof openShared> | undefined;

async function openShared() {
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-keys-'));
  const keystoreFile = join(dir, 'keystore.json');
  const seed = seedOf(generateMnemonic());
  await createKeystore(
    keystoreFile,
    { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed },
    PASSPHRASE,
  );
  const keys = await openKeystoreSigner({
    keystoreFile,
    passphrase: PASSPHRASE,
    codecs: Object.values(CODECS),
    kind: 'test',
  });
  const sealed = await readFile(keystoreFile);
  await rm(dir, { recursive: true });
  return { seed, keys, sealed };
}

export async function createTestKeys(family: Family, dir: string): Promise<TestKeys> {
  const { seed, keys, sealed } = await (shared ??= openShared());
  const keystoreFile = join(dir, 'keystore.json');
  await writeFile(keystoreFile, sealed, { mode: 0o600 });
  const wallet = keys.addresses.find((address) => CODECS[family].parse(address) === address)!;
  const branch = depositBranch(depositXpub(seed, family, 'test'), 'test');
  return {
    keys: { ...keys, addresses: [wallet], close: () => undefined },
    keystoreFile,
    wallet,
    walletKey: hotWalletPrivateKey(seed, family, 'test').toString('hex'),
    depositAddress: (index) => CODECS[family].fromPublicKey(branch.derive(index).publicKey),
  };
}
