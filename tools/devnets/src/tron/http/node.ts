import type { Block } from '../chain/block.ts';
import { stateAt, type Chain } from '../chain/chain.ts';
import { createState, type State } from '../state/state.ts';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { JsonObject } from '../protobuf/json.ts';

/** `wallet/` shows the head and the pool, `walletsolidity/` what is solidified. */
export type Side = 'wallet' | 'walletsolidity';

/** A request to one endpoint. */
export interface NodeRequest {
  readonly side: Side;
  readonly chain: Chain;
  /** The newest block that this request may see. */
  readonly top: number;
  readonly body: JsonObject;
  /** Addresses in base58. */
  readonly visible: boolean;
}

/** An answer that is an object, or JSON text that was made before. */
export type NodeAnswer = object | PreparedJson;

export interface PreparedJson {
  readonly preparedJson: string;
}

export type Endpoint = (request: NodeRequest) => NodeAnswer | Promise<NodeAnswer>;

/** A request that the node answers with `{"Error": "<class> : <message>"}`, status 200. */
export function nodeError(javaClass: string, message: string): GatewayError<'NODE_ERROR'> {
  return new GatewayError('NODE_ERROR', `class ${javaClass} : ${message}`, { retryable: false });
}

/** The block, unless it is unknown or above what the request may see. */
export function blockAt({ chain, top }: NodeRequest, number: number): Block | undefined {
  return number >= 0 && number <= top ? chain.blocks.get(number) : undefined;
}

/** A state to read from, or to try something on: what is changed there is seen by nobody else. */
export function stateOf({ chain, top }: NodeRequest): State {
  if (top >= chain.head.number) return createState(chain.pendingState);
  // Nothing is kept of the state below the solidified block, which a node can lag behind.
  return createState(stateAt(chain, Math.max(top, chain.solidNumber)));
}

/** Of several copies of a block's answer the same text: it is asked for again and again. */
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
