import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';
import type { WalletKey } from '../payouts/payout-facts.ts';

export type NonceMarkErrorCode =
  /** The file holds no valid mark, or cannot be read. The wallet signs no transaction until it is repaired. */
  | 'NONCE_MARK_UNREADABLE'
  /** No new transaction is sent. */
  | 'NONCE_MARK_UNWRITABLE';

/**
 * Highest nonce that this machine ever sent for the wallet, in a file that outlives the database. It proves that a
 * transaction was sent, never the opposite: files get lost, and other machines have their own.
 */
export interface NonceMark {
  read(): Promise<number | undefined>;
  /** Resolves when the mark on disk is at least `nonce`. */
  raise(nonce: number): Promise<void>;
}

/** Deposit addresses keep no file: there are too many, and a second transaction only moves what the first one left. */
export const NO_NONCE_MARK: NonceMark = {
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
};

export function openNonceMark(directory: string, { chain, wallet }: WalletKey): NonceMark {
  const path = join(directory, `nonce-mark-${chain}-${wallet}.json`);
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
      // Another process may have written a higher mark.
      const highest = Math.max(nonce, (await readMark(path)) ?? nonce);
      const text = `${JSON.stringify({ chain, wallet, nonce: highest })}\n`;
      try {
        await writeFileAtomically(path, text, { mode: 0o600, replace: true });
      } catch (error) {
        throw markError('NONCE_MARK_UNWRITABLE', 'the nonce mark was not written', path, error);
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
    throw markError('NONCE_MARK_UNREADABLE', 'the nonce mark cannot be read', path, error);
  }
  const found = parseNonce(text);
  if (found === undefined)
    throw markError('NONCE_MARK_UNREADABLE', 'the file holds no valid nonce mark', path);
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
