import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

/** The wallet's 24 words, written once when it is made; whoever keeps them elsewhere may remove the file. */
export function wordsFileOf({ keys }: Pick<StateDirectory, 'keys'>): string {
  return join(keys, 'words.txt');
}

const INIT_DEADLINE_MS = 30_000;

/** Makes the wallet at the first run in a state directory; later runs use it again. */
export async function prepareKeys(
  directory: StateDirectory,
  secrets: LocalSecrets,
  signal: AbortSignal | undefined,
  say: (line: string) => void = () => undefined,
): Promise<WalletFiles> {
  const keystoreFile = join(directory.keys, 'keystore.json');
  const publicKeysFile = join(directory.keys, 'public-keys.json');
  const passphraseFile = join(directory.keys, 'passphrase');
  const wordsFile = wordsFileOf(directory);
  const shown = join(directory.keys, 'opentill-keys-init.log');
  if (existsSync(shown)) renameSync(shown, wordsFile); // where versions of before kept them
  if (!existsSync(keystoreFile) || !existsSync(publicKeysFile)) {
    for (const file of [keystoreFile, publicKeysFile, wordsFile]) rmSync(file, { force: true }); // of a start cut short
    writeFileSync(passphraseFile, `${secrets.keystorePassphrase}\n`, { mode: 0o600 });
    const files = [
      '--keystore',
      keystoreFile,
      '--public-keys',
      publicKeysFile,
      '--passphrase-file',
      passphraseFile,
      '--words-to',
      wordsFile,
    ];
    await runOpentill({
      args: ['keys', 'init', ...files],
      env: {},
      logs: directory.logs,
      deadlineMs: INIT_DEADLINE_MS,
      signal,
    });
    say(`the wallet's 24 words are in ${wordsFile}: nowhere else, and in no log`);
  }
  const keys = parsePublicKeys(readFileSync(publicKeysFile, 'utf8'), [evmAddressCodec]);
  const [evmHotWallet = ''] = keys.families.EVM.hotWallets;
  return { keystoreFile, passphraseFile, publicKeysFile, evmHotWallet };
}
