import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { openKeystore } from '@opentill/wallet/keystore';
import {
  publicKeysFor,
  publicKeysOf,
  readPublicKeys,
  writePublicKeys,
  type PublicKeys,
} from '@opentill/wallet/public-keys';
import { runOpentill } from './run-command.ts';
import type { LocalSecrets, StateDirectory } from './state-directory.ts';

export interface WalletFiles {
  readonly keystoreFile: string;
  readonly passphraseFile: string;
  readonly publicKeysFile: string;
  readonly evmHotWallet: string;
  readonly tronHotWallet: string;
  readonly suiHotWallet: string;
}

export const LOCAL_CODECS = [evmAddressCodec, tronAddressCodec, suiAddressCodec];

/** The wallet's 24 words, written when it is created. May be deleted once they are stored elsewhere. */
export function wordsFileOf({ keys }: Pick<StateDirectory, 'keys'>): string {
  return join(keys, 'words.txt');
}

const INIT_DEADLINE_MS = 300_000;

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
  if (existsSync(shown)) renameSync(shown, wordsFile); // location used by older versions
  if (!existsSync(keystoreFile) || !existsSync(publicKeysFile)) {
    for (const file of [keystoreFile, publicKeysFile, wordsFile]) rmSync(file, { force: true }); // left by an interrupted start
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
    say(`the wallet's 24 words are only in ${wordsFile}`);
  }
  const keys = await readOrRenew(publicKeysFile, keystoreFile, secrets);
  const { families } = publicKeysFor(keys, 'test');
  const [evmHotWallet = ''] = families.EVM.hotWallets;
  const [tronHotWallet = ''] = families.TRON.hotWallets;
  const [suiHotWallet = ''] = families.SUI.hotWallets;
  return { keystoreFile, passphraseFile, publicKeysFile, evmHotWallet, tronHotWallet, suiHotWallet };
}

/** Rewrites a file of an older version, which lacks families or test networks, from the keystore. */
async function readOrRenew(
  publicKeysFile: string,
  keystoreFile: string,
  { keystorePassphrase }: LocalSecrets,
): Promise<PublicKeys> {
  const keys = await readPublicKeys(publicKeysFile, LOCAL_CODECS);
  const { test } = keys;
  if (test !== undefined && LOCAL_CODECS.every(({ family }) => test[family].hotWallets.length > 0))
    return keys;
  const { secret } = await openKeystore(keystoreFile, 'seed', keystorePassphrase);
  try {
    const renewed = publicKeysOf(secret, LOCAL_CODECS);
    await writePublicKeys(publicKeysFile, renewed);
    return renewed;
  } finally {
    secret.fill(0);
  }
}
