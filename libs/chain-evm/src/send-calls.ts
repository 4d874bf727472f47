import { createCallSize } from '@opentill/chain-sources/call-size';
import type { Asking, Exchanged } from './exchange-calls.ts';
import type { RateLimiter } from '@opentill/chain-sources/rate-limiter';
import type { RawAnswer, RpcRequest } from './rpc-call.ts';

export type SendCalls = (requests: readonly RpcRequest[], asking: Asking) => Promise<RawAnswer>;

export interface SendDeps {
  readonly exchange: (requests: readonly RpcRequest[], asking: Asking) => Promise<Exchanged>;
  readonly limiter: Pick<RateLimiter, 'burst'>;
  /** Another node may serve the new connection. Throws if its answers must not count. */
  readonly onNewConnection: (asking: Asking) => Promise<void>;
}

/** More calls per HTTP request bring no gain, and some providers reject them. */
const CALLS_PER_BATCH_MAX = 100;
const PIECES_AT_ONCE = 4;

/**
 * Sends calls in as few exchanges as the provider accepts, which it learns from rejections. The last call goes after
 * all others are answered: reads end with a check that their beginning still holds.
 */
export function createSendCalls({ exchange, limiter, onNewConnection }: SendDeps): SendCalls {
  const batchSize = createCallSize({ max: CALLS_PER_BATCH_MAX });

  async function send(requests: readonly RpcRequest[], asking: Asking): Promise<RawAnswer> {
    const size = Math.min(batchSize.blocks(), limiter.burst());
    if (requests.length > size) return sendInPieces(requests, size, asking);
    const exchanged = await exchange(requests, asking);
    if (exchanged.kind === 'answered') {
      batchSize.accepted(requests.length);
      if (exchanged.newConnection) await onNewConnection(asking);
      return exchanged.answer;
    }
    const { callsMax, lasting } = exchanged;
    if (lasting) batchSize.refused(callsMax, requests.length);
    const half = Math.ceil(requests.length / 2);
    return sendInPieces(requests, Math.min(callsMax ?? half, half), asking);
  }

  async function sendInPieces(
    requests: readonly RpcRequest[],
    size: number,
    asking: Asking,
  ): Promise<RawAnswer> {
    const before = requests.length - 1;
    const pieces = Array.from({ length: Math.ceil(before / size) }, (_, place) =>
      requests.slice(place * size, Math.min(before, (place + 1) * size)),
    );
    const answers = await allOf(pieces, asking, send);
    answers.push(await send(requests.slice(before), asking));
    return {
      body: Buffer.concat(answers.map(({ body }) => body)),
      results: () => answers.flatMap((answer) => answer.results()),
    };
  }

  return send;
}

async function allOf(
  pieces: readonly (readonly RpcRequest[])[],
  asking: Asking,
  send: SendCalls,
): Promise<RawAnswer[]> {
  const controller = new AbortController();
  const { signal } = asking.options;
  const ended = signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]);
  const own: Asking = { ...asking, options: { ...asking.options, signal: ended } };
  const answers: RawAnswer[] = [];
  let next = 0;
  let failure: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (let place = next++; place < pieces.length && failure === undefined; place = next++) {
      try {
        answers[place] = await send(pieces[place] ?? [], own);
      } catch (error) {
        failure ??= { error };
        controller.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: PIECES_AT_ONCE }, worker));
  if (failure !== undefined) throw failure.error;
  return answers;
}
