import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { parsePublicKeys } from '@opentill/wallet/public-keys';
import { runOpentill } from './run-command.ts';
import type { LocalSecrets, StateDirectory } from './state-directory.ts';

/** The wallet's files: the keystore is for payout-signer alone. */
export interface WalletFiles {
  readonly keystoreFile: string;
  readonly passphraseFile: string;
  readonly publicKeysFile: string;
  /** The hot wallet of the EVM chains. */
  readonly evmHotWallet: string;
}

const INIT_DEADLINE_MS = 30_000;

/** Makes the wallet at the first run in a state directory; later runs use it again. */
export async function prepareKeys(
  directory: StateDirectory,
  secrets: LocalSecrets,
  signal: AbortSignal | undefined,
): Promise<WalletFiles> {
  const keystoreFile = join(directory.keys, 'keystore.json');
  const publicKeysFile = join(directory.keys, 'public-keys.json');
  const passphraseFile = join(directory.keys, 'passphrase');
  if (!existsSync(keystoreFile) || !existsSync(publicKeysFile)) {
    for (const file of [keystoreFile, publicKeysFile]) rmSync(file, { force: true }); // of a start cut short
    writeFileSync(passphraseFile, `${secrets.keystorePassphrase}\n`, { mode: 0o600 });
    const files = [
      '--keystore',
      keystoreFile,
      '--public-keys',
      publicKeysFile,
      '--passphrase-file',
      passphraseFile,
    ];
    await runOpentill({
      args: ['keys', 'init', ...files],
      env: {},
      logs: directory.keys, // it shows the wallet's words: not among the logs
      deadlineMs: INIT_DEADLINE_MS,
      signal,
    });
  }
  const keys = parsePublicKeys(readFileSync(publicKeysFile, 'utf8'), [evmAddressCodec]);
  const [evmHotWallet = ''] = keys.families.EVM.hotWallets;
  return { keystoreFile, passphraseFile, publicKeysFile, evmHotWallet };
}
