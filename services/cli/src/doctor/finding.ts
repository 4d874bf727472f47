import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';

/** `fail`: payments are missed or not credited. `warn`: it works, but slower or less reliably. */
export type Outcome = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly outcome: Outcome;
  readonly subject: string;
  readonly check: string;
  readonly detail: string;
  /** One sentence with the correction; absent if the outcome is `ok`. */
  readonly mend?: string;
}

type Found = Pick<Finding, 'subject' | 'check'>;

export function ok(found: Found, detail: string): Finding {
  return { ...found, outcome: 'ok', detail };
}

export function warn(found: Found, detail: string, mend: string): Finding {
  return { ...found, outcome: 'warn', detail, mend };
}

export function fail(found: Found, detail: string, mend: string): Finding {
  return { ...found, outcome: 'fail', detail, mend };
}

const MENDS: Readonly<Partial<Record<ReaderErrorCode, string>>> = {
  RPC_UNAVAILABLE: 'Check the URL, and that the node runs.',
  RPC_RATE_LIMITED: 'Set requestsPerSecond for this endpoint, or buy a larger plan.',
  RPC_METHOD_MISSING: 'Use an endpoint that offers it.',
  RPC_FORBIDDEN: 'Check the key in the URL.',
  WRONG_CHAIN: 'Put an endpoint of this network into rpcUrls, or correct chainId.',
  BLOCK_NOT_FOUND: 'The node lags, or several nodes answer. Try again; use another endpoint if it persists.',
};

/** Describes errors of nodes and servers. Rethrows programming errors. */
export function findingOf(error: unknown, subject: string, check: string): Finding {
  if (!(error instanceof GatewayError)) throw error;
  const mend = MENDS[error.code as ReaderErrorCode] ?? 'Use another endpoint if it persists.';
  const outcome = error.code === 'RPC_RATE_LIMITED' ? 'warn' : 'fail';
  // Nodes return chain ids in hex, network files have them in decimal.
  const isWrongChain = error.code === 'WRONG_CHAIN';
  const message = isWrongChain
    ? error.message.replace(/0x[0-9a-f]{1,13}\b/i, (id) => `${Number(id)}`)
    : error.message;
  return { outcome, subject, check, detail: sentence(message), mend };
}

/** One line that starts with a capital and ends with a full stop. */
export function sentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `${line.slice(0, 1).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? '' : '.'}`;
}
