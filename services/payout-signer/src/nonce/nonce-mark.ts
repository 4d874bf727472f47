import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';
import type { WalletKey } from '../payouts/payout-facts.ts';

export type NonceMarkErrorCode =
  /** The file is there and holds no mark, or can't be read: nothing is signed until somebody has looked at it. */
  | 'NONCE_MARK_UNREADABLE'
  /** Not written: nothing new is sent. */
  | 'NONCE_MARK_UNWRITABLE';

/**
 * The highest nonce of a wallet that this machine ever sent anything with: a fact that outlives the database. One that
 * knows less was restored from a backup, or failed over to a copy that lacked its last commits.
 *
 * A mark proves that something was sent and never that nothing was: a replica on another machine has a mark of its own, and
 * a lost file is no mark at all. So it only ever stops signing.
 */
export interface NonceMark {
  /** Undefined where nothing was sent from here. */
  read(): Promise<number | undefined>;
  /** Returns when the mark is at `nonce` or above and on disk. */
  raise(nonce: number): Promise<void>;
}

/**
 * Of a deposit address: beside no file. It pays cold storage and hot wallets alone, so a second transaction of it moves what the
 * first has left, and there are too many of them for files.
 */
export const NO_NONCE_MARK: NonceMark = {
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
};

/** The mark of a wallet in a directory that replicas on the same machine may share. */
export function openNonceMark(directory: string, { chain, wallet }: WalletKey): NonceMark {
  const path = join(directory, `nonce-mark-${chain}-${wallet}.json`);
  /** What this process knows to be on disk: raising by what is known costs nothing. */
  let known: number | undefined;

  async function read(): Promise<number | undefined> {
    const found = await readMark(path);
    if (found !== undefined) known = Math.max(found, known ?? found);
    return known;
  }
  return {
    read,
    async raise(nonce) {
      if (known !== undefined && nonce <= known) return;
      // Another process may have been further: its mark is not to be lost.
      const highest = Math.max(nonce, (await readMark(path)) ?? nonce);
      const text = `${JSON.stringify({ chain, wallet, nonce: highest })}\n`;
      try {
        await writeFileAtomically(path, text, { mode: 0o600, replace: true });
      } catch (error) {
        throw markError(
          'NONCE_MARK_UNWRITABLE',
          'the mark of the highest nonce sent was not written',
          path,
          error,
        );
      }
      known = highest;
    },
  };
}

async function readMark(path: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw markError('NONCE_MARK_UNREADABLE', 'the mark of the highest nonce sent can’t be read', path, error);
  }
  const found = parseNonce(text);
  if (found === undefined) throw markError('NONCE_MARK_UNREADABLE', 'this is no mark of a nonce', path);
  return found;
}

function parseNonce(text: string): number | undefined {
  try {
    const { nonce } = JSON.parse(text) as { nonce?: unknown };
    return Number.isSafeInteger(nonce) && (nonce as number) >= 0 ? (nonce as number) : undefined;
  } catch {
    return undefined;
  }
}

function markError(
  code: NonceMarkErrorCode,
  message: string,
  path: string,
  cause?: unknown,
): GatewayError<NonceMarkErrorCode> {
  return new GatewayError(code, message, {
    retryable: true,
    context: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
