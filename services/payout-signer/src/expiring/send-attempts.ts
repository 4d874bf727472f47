import type { TxHash } from '@opentill/chain/transfer';
import { inFlight, mayLand, type OpenAttempt } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext, ExpiringMemory, ExpiringTiming } from './pass-deps.ts';
import { traceparentOf, tracePayouts } from '../wallet/trace-payouts.ts';

export type Sendable = Pick<OpenAttempt, 'txHash' | 'orderPk' | 'validity'>;

/**
 * Stored transactions to send now, oldest first: each one that this process has not sent yet, and others after growing
 * pauses, regardless of nodes' answers. Excludes those in a block, and those past their end by the chain.
 */
export function chooseSends(
  { attempts, cursor }: Pick<ExpiringView, 'attempts' | 'cursor'>,
  memory: Pick<ExpiringMemory, 'sends'>,
  nowMs: number,
  timing: Pick<ExpiringTiming, 'resendMs' | 'resendMaxMs'>,
  limit: number,
): readonly Sendable[] {
  const isDue = (txHash: TxHash): boolean => {
    const sent = memory.sends.get(txHash);
    if (sent === undefined) return true;
    const pauseMs = Math.min(timing.resendMaxMs, timing.resendMs * 2 ** Math.min(sent.times - 1, 20));
    return nowMs - sent.atMs >= pauseMs;
  };
  return inFlight(attempts)
    .filter(({ hasBytes, validity }) => hasBytes && mayLand(validity, cursor))
    .filter(({ txHash }) => isDue(txHash))
    .slice(0, limit);
}

/** Drops transactions that are in a block or gone. If a reorganisation brings one back, it is sent at once. */
export function forgetSettled(memory: Pick<ExpiringMemory, 'sends'>, attempts: readonly OpenAttempt[]): void {
  const waiting = new Set(inFlight(attempts).map(({ txHash }) => txHash));
  for (const txHash of memory.sends.keys()) if (!waiting.has(txHash)) memory.sends.delete(txHash);
}

/** Reads the bytes from the database, so only committed ones are sent. Only the own scan decides about outcomes. */
export async function sendStored(context: ExpiringContext, chosen: readonly Sendable[]): Promise<void> {
  if (chosen.length === 0) return;
  const { store, sender, lease, memory, mark, monotonicMs, observe, key, signal } = context;
  const bytes = await store.readRaw(chosen.map(({ txHash }) => txHash));
  // Even if the database is lost, this machine knows from here on that it sent them.
  const epochs = chosen.flatMap(({ validity }) => validity.epochs?.last ?? []);
  await mark.raise({
    uniqueMs: Math.max(...chosen.map(({ validity }) => validity.uniqueMs)),
    expiresMs: Math.max(...chosen.map(({ validity }) => validity.expiresMs)),
    ...(epochs.length > 0 && { lastEpoch: Math.max(...epochs) }),
  });
  const signed = chosen.flatMap(({ txHash, orderPk }) => {
    const raw = bytes.get(txHash);
    return raw === undefined ? [] : [{ txHash, orderPk, raw }];
  });
  await tracePayouts(
    context,
    'send payout',
    chosen.flatMap(({ orderPk }) => orderPk ?? []),
    async (spans) => {
      const outcomes = await sender.broadcast(signed, { signal });
      const sent = signed.map(({ txHash, orderPk }, place) => {
        const outcome = outcomes[place] ?? ('UNKNOWN' as const);
        return { txHash, orderPk, outcome, traceparent: traceparentOf(spans, orderPk) };
      });
      // Also if recording fails: the next send records it.
      const atMs = monotonicMs();
      for (const { txHash } of sent) {
        const times = (memory.sends.get(txHash)?.times ?? 0) + 1;
        memory.sends.set(txHash, { times, atMs });
      }
      const sentFirst = await store.recordSent(lease, sent);
      observe.sent(key, sent, sentFirst.length);
      if (sentFirst.length > 0) context.onCommitted();
      return sentFirst;
    },
    (sentFirst) => sentFirst,
  );
}
