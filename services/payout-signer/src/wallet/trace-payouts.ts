import { isTracing, startSpan, type OrderSpan } from '@opentill/runtime/tracing';
import type { WalletKey, WalletStore } from '../payouts/payout-facts.ts';

interface TracingContext {
  readonly key: WalletKey;
  readonly store: Pick<WalletStore, 'tracesOf'>;
}

type Name = 'sign payout' | 'send payout';

/**
 * One span per order, in the trace of its creation. Only spans of the orders that `work` reports as done are recorded:
 * a payout that is not signed, or is sent again, adds none.
 */
export async function tracePayouts<T>(
  { key, store }: TracingContext,
  name: Name,
  orderPks: readonly string[],
  work: (spans: ReadonlyMap<string, OrderSpan>) => Promise<T>,
  doneOf: (result: T) => readonly string[],
): Promise<T> {
  const spans = new Map<string, OrderSpan>();
  if (!isTracing('payout-signer')) return work(spans);
  const traces = await store.tracesOf(orderPks);
  for (const [orderPk, parent] of traces) {
    const span = startSpan('payout-signer', name, {
      parent,
      kind: name === 'send payout' ? 'PRODUCER' : 'INTERNAL',
      attributes: { 'opentill.order_pk': orderPk, 'opentill.chain': key.chain },
    });
    if (span !== undefined) spans.set(orderPk, span);
  }
  const [only] = spans.values();
  const result = await (only !== undefined && orderPks.length === 1
    ? only.run(() => work(spans))
    : work(spans));
  if (spans.size > 0) for (const orderPk of doneOf(result)) spans.get(orderPk)?.end();
  return result;
}

export function traceparentOf(
  spans: ReadonlyMap<string, OrderSpan>,
  orderPk: string | null,
): string | undefined {
  return orderPk === null ? undefined : spans.get(orderPk)?.traceparent;
}
