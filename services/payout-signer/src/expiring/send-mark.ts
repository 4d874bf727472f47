import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';
import type { WalletKey } from '../payouts/payout-facts.ts';

export type SendMarkErrorCode =
  /** The file is there and holds no mark, or can't be read: nothing is signed until somebody has looked at it. */
  | 'SEND_MARK_UNREADABLE'
  /** Not written: nothing new is sent. */
  | 'SEND_MARK_UNWRITABLE';

/** The furthest of all that was sent. */
export interface MarkOfSends {
  /** The highest unique time. */
  readonly uniqueMs: number;
  /** The last expiry, by the chain's time: later nothing of it can land. */
  readonly expiresMs: number;
  /** Where epochs end transactions: the last one in which anything of it can land. */
  readonly lastEpoch?: number;
}

/**
 * How far this machine ever went in sending for a wallet: a fact that outlives the database, as NonceMark is where there are
 * nonces. It proves that something was sent and never that nothing was, so it only ever stops signing.
 */
export interface SendMark {
  /** Undefined where nothing was sent from here. */
  read(): Promise<MarkOfSends | undefined>;
  /** Returns when the mark is at these or above and on disk. */
  raise(to: MarkOfSends): Promise<void>;
}

/** Of a deposit address: see NO_NONCE_MARK. */
export const NO_SEND_MARK: SendMark = {
  read: () => Promise.resolve(undefined),
  raise: () => Promise.resolve(),
};

/** The mark of a wallet in a directory that replicas on the same machine may share. */
export function openSendMark(directory: string, { chain, wallet }: WalletKey): SendMark {
  const path = join(directory, `send-mark-${chain}-${wallet}.json`);
  /** What this process knows to be on disk: raising by what is known costs nothing. */
  let known: MarkOfSends | undefined;

  async function read(): Promise<MarkOfSends | undefined> {
    known = further(known, await readMark(path));
    return known;
  }
  return {
    read,
    async raise(to) {
      // What can't be read again would stop the wallet for good.
      if (!isMark(to))
        throw markError('SEND_MARK_UNWRITABLE', 'what was sent has no times that can be read', path);
      if (known !== undefined && isWithin(to, known)) return;
      // Another process may have been further: its mark is not to be lost.
      const highest = further(to, await readMark(path));
      try {
        const text = `${JSON.stringify({ chain, wallet, ...highest })}\n`;
        await writeFileAtomically(path, text, { mode: 0o600, replace: true });
      } catch (error) {
        throw markError('SEND_MARK_UNWRITABLE', 'the mark of what was sent was not written', path, error);
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
    throw markError('SEND_MARK_UNREADABLE', 'the mark of what was sent can’t be read', path, error);
  }
  const found = parseMark(text);
  if (found === undefined) throw markError('SEND_MARK_UNREADABLE', 'this is no mark of what was sent', path);
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
