import type { TxHash } from '@opentill/chain/transfer';
import type { UnsignedPayout } from '../payouts/payout-facts.ts';
import type { PassContext } from './pass-deps.ts';
import type { WalletView } from './store/payout-store.ts';

/**
 * Their nonces are used up at the verified block, and none of their transactions has a receipt: by two sources where
 * two are configured.
 */
export async function chooseUnpaid(
  context: PassContext,
  view: WalletView,
  payouts: readonly UnsignedPayout[],
): Promise<ReadonlySet<string>> {
  const { store, sender, reader, key, signal } = context;
  if (payouts.length === 0 || view.cursor === null) return new Set();
  const { verified } = view.cursor;
  const known = await store.transactionsOf(payouts.map(({ orderPk }) => orderPk));
  const agreement = { requireTwoSources: true, signal };
  const count = await sender.countAt(key.wallet, verified, agreement);
  const { fates, disputed } = await reader.readFates(known, { ...agreement, atHeight: verified.height });
  const present = new Set<TxHash>([...fates.map(({ txHash }) => txHash), ...disputed]);
  const mayLand = new Set(
    known.flatMap(({ orderPk, nonce, txHash }) => (nonce >= count || present.has(txHash) ? [orderPk] : [])),
  );
  return new Set(payouts.flatMap(({ orderPk }) => (mayLand.has(orderPk) ? [] : [orderPk])));
}
