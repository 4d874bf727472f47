import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';

/** `fail`: payments would be missed or not credited until it is mended. `warn`: it works, but slower or less surely. */
export type Outcome = 'ok' | 'warn' | 'fail';

/** What one check of `opentill doctor` found. */
export interface Finding {
  readonly outcome: Outcome;
  /** What was looked at: an endpoint by host and port, a token by its symbol, or the network itself. */
  readonly subject: string;
  readonly check: string;
  /** One sentence on what was seen. */
  readonly detail: string;
  /** One sentence on what to mend; there unless all is well. */
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
  RPC_UNAVAILABLE: 'Look whether the URL is right and the node runs.',
  RPC_RATE_LIMITED: 'Set requestsPerSecond for this endpoint, or take a larger plan.',
  RPC_METHOD_MISSING: 'Take an endpoint that offers it.',
  RPC_FORBIDDEN: 'Look at the key in the URL.',
  WRONG_CHAIN: 'Put an endpoint of this network into rpcUrls, or the right chainId.',
  BLOCK_NOT_FOUND:
    'The node lags or several nodes answer; try again, and take another endpoint if it stays so.',
};

/** The finding for an error: what a node or a server said of itself. Programming errors pass through. */
export function findingOf(error: unknown, subject: string, check: string): Finding {
  if (!(error instanceof GatewayError)) throw error;
  const mend = MENDS[error.code as ReaderErrorCode] ?? 'Take another endpoint if it stays so.';
  const outcome = error.code === 'RPC_RATE_LIMITED' ? 'warn' : 'fail';
  // Nodes name chain ids in hex, network files in decimals.
  const isWrongChain = error.code === 'WRONG_CHAIN';
  const message = isWrongChain
    ? error.message.replace(/0x[0-9a-f]{1,13}\b/i, (id) => `${Number(id)}`)
    : error.message;
  return { outcome, subject, check, detail: sentence(message), mend };
}

/** One line, with a capital and a full stop. */
export function sentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return `${line.slice(0, 1).toUpperCase()}${line.slice(1)}${/[.!?]$/.test(line) ? '' : '.'}`;
}
