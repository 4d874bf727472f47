import type { ReaderError, ReaderErrorCode } from '@opentill/chain/reader-error';
import { isReaderError } from '@opentill/chain/reader-error';
import { createPostJson } from '@opentill/chain-sources/post-json';
import type { RateLimiter } from '@opentill/chain-sources/rate-limiter';
import type { AdmittedCalls } from '@opentill/chain-sources/await-rate-limit';
import { noteComplaint, awaitRateLimit } from '@opentill/chain-sources/await-rate-limit';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { BatchAnswer } from './batch-answer.ts';
import { batchBody, hasNoErrorSign, readBatchAnswer } from './batch-answer.ts';
import { withoutLists } from './raw-answer.ts';
import type { RawAnswer, RpcExchange, RpcRequest } from './rpc-call.ts';

export type Asking = AdmittedCalls;

export type Exchanged =
  | {
      readonly kind: 'answered';
      readonly answer: RawAnswer;
      readonly newConnection: boolean;
      readonly complaint?: ReaderError | undefined;
    }
  | Extract<BatchAnswer, { kind: 'batchRefused' }>;

export interface ExchangeDeps {
  readonly url: string;
  readonly endpoint: string;
  readonly limiter: RateLimiter;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly onExchange: ((exchange: RpcExchange) => void) | undefined;
}

/** Throws the error of the calls. A batch that is too large is returned, not thrown. */
export function createExchangeCalls(
  deps: ExchangeDeps,
): (requests: readonly RpcRequest[], asking: Asking) => Promise<Exchanged> {
  const { endpoint, limiter, bytesMax } = deps;
  const post = createPostJson(deps.url);

  async function postAndRead(
    requests: readonly RpcRequest[],
    asking: Asking,
    traffic: { requestBytes: number; answerBytes: number },
  ): Promise<Exchanged> {
    const answer = await post(batchBody(requests), {
      timeoutMs: Math.max(1, asking.deadline.atMs - performance.now()),
      bytesMax,
      context: { endpoint },
      signal: asking.options.signal,
      traffic,
    });
    const { body, newConnection } = answer;
    const read = (ofBody: Buffer): BatchAnswer =>
      readBatchAnswer({ ...answer, body: ofBody }, requests, endpoint);
    if (hasNoErrorSign(answer, requests)) {
      const results = once(() => resultsOf(read(body)));
      const resultsWithout: RawAnswer['resultsWithout'] = (lists) =>
        resultsOf(read(withoutLists(body, lists)));
      return { kind: 'answered', newConnection, answer: { body, results, resultsWithout } };
    }
    const found = read(body);
    if (found.kind === 'batchRefused') return found;
    const results = resultsOf(found);
    const complaint = results.find((result) => isReaderError(result, 'RPC_RATE_LIMITED'));
    return { kind: 'answered', newConnection, answer: { body, results: () => results }, complaint };
  }

  return async (requests, asking) => {
    await awaitRateLimit(deps, requests.length, asking);
    const startedAt = performance.now();
    const traffic = { requestBytes: 0, answerBytes: 0 };
    const methods = requests.map((request) => request.method);
    const report = (outcome: RpcExchange['outcome']): void =>
      deps.onExchange?.({
        endpoint,
        methods,
        outcome,
        durationMs: performance.now() - startedAt,
        ...traffic,
      });
    try {
      const exchanged = await postAndRead(requests, asking, traffic);
      if (exchanged.kind === 'answered' && exchanged.complaint !== undefined)
        noteComplaint(limiter, exchanged.complaint);
      else limiter.answered();
      report(exchanged.kind === 'answered' ? 'OK' : exchanged.error.code);
      return exchanged;
    } catch (error) {
      const reported = isReaderError(error, 'RPC_RATE_LIMITED') ? noteComplaint(limiter, error) : error;
      report(reported instanceof GatewayError ? (reported.code as ReaderErrorCode) : 'RPC_UNAVAILABLE');
      // The answers are too long together; single ones may be short enough.
      if (
        requests.length > 1 &&
        isReaderError(reported, 'RPC_RANGE_TOO_LARGE') &&
        reported.context['answerTooLong'] === true
      )
        return { kind: 'batchRefused', error: reported, callsMax: undefined, lasting: false };
      throw reported;
    }
  };
}

function resultsOf(read: BatchAnswer): readonly unknown[] {
  if (read.kind === 'results') return read.results;
  throw read.error;
}

function once<T>(work: () => T): () => T {
  let done: { readonly value: T } | undefined;
  return () => (done ??= { value: work() }).value;
}
