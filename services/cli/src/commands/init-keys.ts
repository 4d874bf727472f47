import { access, rm } from 'node:fs/promises';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createKeystore } from '@opentill/wallet/keystore';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import { readPassphraseFile } from '@opentill/wallet/read-passphrase-file';
import type { CliContext, CliErrorCode } from '../context.ts';

/** Address formats the gateway can derive for; a new family adds its codec here. */
const CODECS = [evmAddressCodec];

/**
 * Makes a new wallet: 24 words shown once, an encrypted keystore for payout-signer, and the public key file for
 * everybody else. Never overwrites a file.
 * @throws GatewayError CLI_USAGE, NO_TERMINAL, or a WalletErrorCode
 */
export async function initKeys(
  context: CliContext,
  options: { readonly keystore: string; readonly publicKeys: string; readonly passphraseFile?: string },
): Promise<void> {
  const passphrase = await choosePassphrase(context, options.passphraseFile);
  for (const file of [options.keystore, options.publicKeys]) await requireAbsent(file);
  const words = generateMnemonic();
  const seed = seedOf(words);
  try {
    const keyId = seedFingerprint(seed);
    const publicKeys = publicKeysOf(seed, CODECS);
    await writePublicKeys(options.publicKeys, publicKeys);
    try {
      await createKeystore(options.keystore, { purpose: 'seed', keyId, secret: seed }, passphrase);
    } catch (error) {
      await rm(options.publicKeys, { force: true }); // addresses that nobody could ever spend from
      throw error;
    }
    context.print('Write these 24 words on paper. They are shown once, and they are the money:');
    context.print('');
    words.split(' ').forEach((word, i) => context.print(`  ${String(i + 1).padStart(2)}  ${word}`));
    context.print('');
    context.print(
      `Keystore ${options.keystore} (for payout-signer alone), public keys ${options.publicKeys}.`,
    );
    for (const [family, keys] of Object.entries(publicKeys.families)) {
      for (const address of keys.hotWallets) context.print(`Hot wallet ${family}: ${address}`);
    }
  } finally {
    seed.fill(0);
  }
}

/** Asked before anything is written: a keystore whose words were never shown is worse than none. */
async function requireAbsent(file: string): Promise<void> {
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (!exists) return;
  throw new GatewayError<CliErrorCode>('CLI_USAGE', `${file} exists already and is not overwritten.`, {
    retryable: false,
  });
}

async function choosePassphrase(context: CliContext, file: string | undefined): Promise<string> {
  if (file !== undefined) return readPassphraseFile(file);
  const first = await context.askSecret('New passphrase');
  const second = await context.askSecret('The same again');
  if (first !== second) {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', 'The two passphrases differ; nothing was written.', {
      retryable: false,
    });
  }
  return first;
}
