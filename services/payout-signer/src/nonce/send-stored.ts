import type { TxHash } from '@opentill/chain/transfer';
import { rememberSent } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import type { WalletView } from './store/payout-store.ts';
import { traceparentOf, tracePayouts } from '../wallet/trace-payouts.ts';

/** Reads the bytes from the database, so only committed ones are sent. Only receipts decide about outcomes. */
export async function sendStored(
  context: PassContext,
  view: WalletView,
  chosen: readonly { readonly txHash: TxHash; readonly nonce: number; readonly orderPk: string | null }[],
): Promise<void> {
  if (chosen.length === 0) return;
  const { store, sender, lease, memory, mark, monotonicMs, observe, key, signal } = context;
  const bytes = await store.readRaw(chosen.map(({ txHash }) => txHash));
  // Even if the database is lost, this machine knows from here on that it sent them.
  await mark.raise(Math.max(...chosen.map(({ nonce }) => nonce)));
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
      const sent = signed.map(({ txHash, orderPk }, place) => ({
        txHash,
        orderPk,
        outcome: outcomes[place] ?? 'UNKNOWN',
        traceparent: traceparentOf(spans, orderPk),
      }));
      // Also if recording fails: the next send records it.
      rememberSent(
        memory.sends,
        sent.map(({ txHash }) => txHash),
        monotonicMs(),
        view.cursor?.seen.height ?? 0,
      );
      const sentFirst = await store.recordSent(lease, sent);
      observe.sent(key, sent, sentFirst.length);
      if (sentFirst.length > 0) context.onCommitted();
      return sentFirst;
    },
    (sentFirst) => sentFirst,
  );
}
