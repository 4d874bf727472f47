import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import type { AskOptions } from '@opentill/chain-sources/source';
import type { ByteRange } from './json-bytes.ts';

export type { AskOptions };

export interface RpcRequest {
  readonly method: string;
  readonly params: readonly unknown[];
  /**
   * A rejection of this call only is a normal answer: its result is a ReaderError, which no JSON can be. Its context
   * has `said` (the node's message), `rpcCode` and `data` (revert data, where given).
   */
  readonly mayBeRefused?: boolean;
}

export interface RpcExchange {
  /** Host and port, never the path: it may contain a provider's key. */
  readonly endpoint: string;
  readonly methods: readonly string[];
  readonly outcome: 'OK' | ReaderErrorCode;
  /** Excludes the wait for the rate limiter. */
  readonly durationMs: number;
  /** Sizes on the wire, answers compressed if they were; for a cut-off answer, the bytes that arrived. */
  readonly requestBytes: number;
  readonly answerBytes: number;
}

/** Unparsed, so that two nodes' answers to the same requests can be compared byte by byte. */
export interface RawAnswer {
  readonly body: Buffer;
  /** Parsed and checked on first use; in the order of the requests. Throws as `batch`. */
  results(): readonly unknown[];
  /** Leaves these lists empty, for callers that read them from the bytes. Absent where the answer came in pieces. */
  resultsWithout?(lists: readonly ByteRange[]): readonly unknown[];
}

export interface EvmClient {
  /**
   * Sends the requests in one HTTP call and returns their results in order: from one node, unless the provider
   * distributes batches. If it rejects batches of this size, they go in several calls; the last request goes after all
   * others are answered. Any error in the answers fails the whole call, unless its request has `mayBeRefused`.
   *
   * Throws a GatewayError with a ReaderErrorCode; does not retry. Its context has, where known: `method` and `place` of
   * the request, `suggestedBlocks` (with RPC_RANGE_TOO_LARGE, the range that would be answered) and `retryAfterMs` (the
   * provider's delay, at most a minute).
   */
  batch(requests: readonly RpcRequest[], options?: AskOptions): Promise<readonly unknown[]>;
  /** Parses an answer without sign of an error only in `results()`, which then throws. */
  ask(requests: readonly RpcRequest[], options?: AskOptions): Promise<RawAnswer>;
  waitMs(): number;
}
