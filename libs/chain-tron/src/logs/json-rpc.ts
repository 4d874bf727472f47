import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import { malformed, objectIn, shownValue } from '../node-value.ts';
import type { TronSource } from '../tron-sources.ts';

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

const NO_SUCH_METHOD = -32_601;
/** java-tron's texts for more blocks, alternatives or results than it returns (LogFilterWrapper, LogBlockQuery). */
const TOO_LARGE = /exceed max|more than \d+ results|too large/i;

/**
 * One HTTP request to `/jsonrpc`, of at most 100 calls (java-tron's `maxBatchSize`); the node runs them in order. Results in the order of the calls. A node without
 * the interface causes RPC_METHOD_MISSING or RPC_REFUSED.
 */
export async function askJsonRpc(
  source: Pick<TronSource, 'call'>,
  calls: readonly RpcCall[],
  options: ReadOptions,
): Promise<readonly unknown[]> {
  const batch = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
  const call = { side: 'wallet', method: 'jsonrpc', path: '/jsonrpc', batch, isOptional: true } as const;
  const answers = await source.call(call, options);
  if (!Array.isArray(answers)) throw refusal(objectIn(answers, 'answer to a batch')['error'] ?? answers);
  const results = new Map<unknown, unknown>();
  for (const one of answers as readonly unknown[]) {
    const { id, result, error } = objectIn(one, 'answer of a batch');
    if (error !== undefined && error !== null) throw refusal(error);
    results.set(id, result);
  }
  return calls.map(({ method }, id) => {
    const result = results.get(id);
    return result === undefined || result === null ? malformed(method, result) : result;
  });
}

function refusal(error: unknown): Error {
  const { code, message } = typeof error === 'object' && error !== null ? (error as RpcError) : {};
  const text = typeof message === 'string' ? message : shownValue(error);
  const its: ReaderErrorCode =
    code === NO_SUCH_METHOD
      ? 'RPC_METHOD_MISSING'
      : TOO_LARGE.test(text)
        ? 'RPC_RANGE_TOO_LARGE'
        : 'RPC_REFUSED';
  return readerError(its, `the node returned an error: ${boundedText(text.slice(0, 300))}`);
}

interface RpcError {
  readonly code?: unknown;
  readonly message?: unknown;
}
