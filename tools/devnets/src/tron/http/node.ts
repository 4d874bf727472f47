import type { Block } from '../chain/block.ts';
import { stateAt, type Chain } from '../chain/chain.ts';
import { createState, type State } from '../state/state.ts';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { JsonObject } from '../protobuf/json.ts';

/** `wallet/` serves the head and the pool, `walletsolidity/` the solidified state. */
export type Side = 'wallet' | 'walletsolidity';

export interface NodeRequest {
  readonly side: Side;
  readonly chain: Chain;
  /** Newest block that is visible to this request. */
  readonly top: number;
  readonly body: JsonObject;
  /** True for base58 addresses. */
  readonly visible: boolean;
}

export type NodeAnswer = object | PreparedJson;

export interface PreparedJson {
  readonly preparedJson: string;
}

export type Endpoint = (request: NodeRequest) => NodeAnswer | Promise<NodeAnswer>;

/** Error that the node returns as `{"Error": "<class> : <message>"}` with status 200. */
export function nodeError(javaClass: string, message: string): GatewayError<'NODE_ERROR'> {
  return new GatewayError('NODE_ERROR', `class ${javaClass} : ${message}`, { retryable: false });
}

export function blockAt({ chain, top }: NodeRequest, number: number): Block | undefined {
  return number >= 0 && number <= top ? chain.blocks.get(number) : undefined;
}

export function stateOf({ chain, top }: NodeRequest): State {
  if (top >= chain.head.number) return createState(chain.pendingState);
  // No state below the solidified block is kept, even if a lagging node should serve it.
  return createState(stateAt(chain, Math.max(top, chain.solidNumber)));
}

/** Caches response texts, because blocks are requested repeatedly. */
export function createAnswerCache(maxBytes: number): {
  get(key: string, make: () => string): PreparedJson;
} {
  const texts = new Map<string, string>();
  let bytes = 0;
  return {
    get(key, make) {
      const known = texts.get(key);
      if (known !== undefined) return { preparedJson: known };
      const text = make();
      texts.set(key, text);
      bytes += text.length;
      for (const [oldest, value] of texts) {
        if (bytes <= maxBytes) break;
        texts.delete(oldest);
        bytes -= value.length;
      }
      return { preparedJson: text };
    },
  };
}
