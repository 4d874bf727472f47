import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';
import type { WalletKey } from '../payouts/payout-facts.ts';

export type SendMarkErrorCode =
  /** The file holds no valid mark, or cannot be read. The wallet signs no transaction until it is repaired. */
  | 'SEND_MARK_UNREADABLE'
  /** No new transaction is sent. */
  | 'SEND_MARK_UNWRITABLE';

export interface MarkOfSends {
  readonly uniqueMs: number;
  /** Latest expiry, by the chain's time. */
  readonly expiresMs: number;
  /** Chains with epochs: the last epoch in which any of them can land. */
  readonly lastEpoch?: number;
}

/** In a file that outlives the database (see NonceMark). Proves that something was sent, never the opposite. */
export interface SendMark {
  read(): Promise<MarkOfSends | undefined>;
  /** Resolves when the mark on disk is at least `to`. */
  raise(to: MarkOfSends): Promise<void>;
}

/** For deposit addresses; see NO_NONCE_MARK. */
export const NO_SEND_MARK: SendMark = {
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
};

export function openSendMark(directory: string, { chain, wallet }: WalletKey): SendMark {
  const path = join(directory, `send-mark-${chain}-${wallet}.json`);
  let known: MarkOfSends | undefined;

  async function read(): Promise<MarkOfSends | undefined> {
    known = further(known, await readMark(path));
    return known;
  }
  return {
    read,
    async raise(to) {
      // A mark that cannot be read again would stop the wallet permanently.
      if (!isMark(to))
        throw markError('SEND_MARK_UNWRITABLE', 'the send mark would hold invalid times', path);
      if (known !== undefined && isWithin(to, known)) return;
      // Another process may have written a higher mark.
      const highest = further(to, await readMark(path));
      try {
        const text = `${JSON.stringify({ chain, wallet, ...highest })}\n`;
        await writeFileAtomically(path, text, { mode: 0o600, replace: true });
      } catch (error) {
        throw markError('SEND_MARK_UNWRITABLE', 'the send mark was not written', path, error);
      }
      known = highest;
    },
  };
}

function further(one: MarkOfSends | undefined, other: MarkOfSends | undefined): MarkOfSends | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const epochs = [one, other].flatMap(({ lastEpoch }) => lastEpoch ?? []);
  return {
    uniqueMs: Math.max(one.uniqueMs, other.uniqueMs),
    expiresMs: Math.max(one.expiresMs, other.expiresMs),
    ...(epochs.length > 0 && { lastEpoch: Math.max(...epochs) }),
  };
}

function isWithin(mark: MarkOfSends, known: MarkOfSends): boolean {
  return (
    mark.uniqueMs <= known.uniqueMs &&
    mark.expiresMs <= known.expiresMs &&
    (mark.lastEpoch ?? -1) <= (known.lastEpoch ?? -1)
  );
}

async function readMark(path: string): Promise<MarkOfSends | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw markError('SEND_MARK_UNREADABLE', 'the send mark cannot be read', path, error);
  }
  const found = parseMark(text);
  if (found === undefined) throw markError('SEND_MARK_UNREADABLE', 'the file holds no valid send mark', path);
  return found;
}

function parseMark(text: string): MarkOfSends | undefined {
  try {
    const { uniqueMs, expiresMs, lastEpoch } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const mark = { uniqueMs, expiresMs, ...(lastEpoch === undefined ? {} : { lastEpoch }) };
    return isMark(mark) ? mark : undefined;
  } catch {
    return undefined;
  }
}

function isMark(mark: Readonly<Partial<Record<keyof MarkOfSends, unknown>>>): mark is MarkOfSends {
  const { uniqueMs, expiresMs, lastEpoch } = mark;
  return (
    isTime(uniqueMs) && isTime(expiresMs) && (lastEpoch === undefined || Number.isSafeInteger(lastEpoch))
  );
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function markError(
  code: SendMarkErrorCode,
  message: string,
  path: string,
  cause?: unknown,
): GatewayError<SendMarkErrorCode> {
  return new GatewayError(code, message, {
    retryable: true,
    context: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
