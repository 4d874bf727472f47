import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import type { AskOptions } from '@opentill/chain-sources/source';
import type { ByteRange } from './json-bytes.ts';

export type { AskOptions };

/** One call of a JSON-RPC batch. */
export interface RpcRequest {
  readonly method: string;
  readonly params: readonly unknown[];
  /**
   * A refusal of this call alone is an answer like any other: it stands among the results as a ReaderError, which no
   * JSON can be, with `said` (what the node said), `rpcCode` and `data` (revert data, where given) in its context.
   */
  readonly mayBeRefused?: boolean;
}

/** One HTTP exchange with a node, for metrics and logs. */
export interface RpcExchange {
  /** Host and port, never the path: keys of providers stand there. */
  readonly endpoint: string;
  /** Of each call in it, also the client's own eth_chainId. */
  readonly methods: readonly string[];
  readonly outcome: 'OK' | ReaderErrorCode;
  /** Without the time that the calls waited for their turn. */
  readonly durationMs: number;
  /** Bodies as they went over the wire, the answer packed if it was; what arrived of it when it was broken off. */
  readonly requestBytes: number;
  readonly answerBytes: number;
}

/** An answer kept as it came, so that two nodes' answers to the same requests can be compared by their bytes. */
export interface RawAnswer {
  readonly body: Buffer;
  /** Parsed and checked on first use; in the order of the requests. Throws as `batch`. */
  results(): readonly unknown[];
  /**
   * The same with these lists of the body empty, for whoever has read them from its bytes. Absent where the answer came
   * in several pieces.
   */
  resultsWithout?(lists: readonly ByteRange[]): readonly unknown[];
}

export interface EvmClient {
  /**
   * Sends the requests in one HTTP call and gives their results in the order of the requests; so they come from one
   * node, unless the provider splits batches among several. Where it refuses batches of the size they go in several
   * calls, the last request when all others are answered. Any error among the answers is the error of the whole, unless
   * the request says otherwise.
   *
   * Throws a GatewayError with a ReaderErrorCode; does not retry. In its context, where known: `method` and `place` of
   * the request it is about, `suggestedBlocks` (with RPC_RANGE_TOO_LARGE, how many would be answered) and
   * `retryAfterMs` (how long the URL asked to be left alone, at most a minute).
   */
  batch(requests: readonly RpcRequest[], options?: AskOptions): Promise<readonly unknown[]>;
  /** The same without looking into an answer that shows no error: what is wrong with it comes out of `results()`. */
  ask(requests: readonly RpcRequest[], options?: AskOptions): Promise<RawAnswer>;
  /** Milliseconds until the provider's limit lets a call through. */
  waitMs(): number;
}
