import { chooseSuspects } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import type { TxHash } from '@opentill/chain/transfer';
import type { WalletView } from './store/payout-store.ts';
import type { OpenNonce } from './store/nonce-facts.ts';

/** Per commit. After a restore from an old backup there may be many. */
const TAKEN_AT_ONCE = 1_000;

/**
 * Proof that an unknown transaction used a nonce: the count at a verified block, and no receipt of an own one. Two
 * sources must agree, because the result is permanent. `chainCount` is a suspicion: the highest count of any source.
 */
export async function watchForeign(
  context: PassContext,
  view: WalletView,
  chainCount: number,
): Promise<void> {
  const { sender, store, lease, observe, key, memory, signal } = context;
  const { cursor, nextNonce } = view;
  if (cursor === null || nextNonce === null) return;
  const heights = { seenHeight: cursor.seen.height, verifiedHeight: cursor.verified.height };
  const suspects = chooseSuspects(view.nonces, chainCount, heights, memory.suspicions, view.now.getTime());
  if (suspects.length === 0 && chainCount <= nextNonce) return;

  const count = await sender.countAt(key.wallet, cursor.verified, { requireTwoSources: true, signal });
  const below = suspects.filter(({ nonce }) => nonce < count);
  const present = await findPresent(context, below, cursor.verified.height);
  const taken = below
    .filter(({ attempts }) => attempts.every(({ txHash }) => !present.has(txHash)))
    .map(({ nonce }) => nonce);
  for (let nonce = nextNonce; nonce < count && taken.length < TAKEN_AT_ONCE; nonce += 1) taken.push(nonce);
  if (taken.length === 0) return;
  const reason = `nonces ${taken[0]} to ${taken.at(-1)} were used by transactions that this database does not know`;
  await store.markTaken(lease, taken, reason);
  observe.foreignNonces(key, taken);
}

async function findPresent(
  { reader, key, signal }: PassContext,
  nonces: readonly OpenNonce[],
  atHeight: number,
): Promise<ReadonlySet<TxHash>> {
  const own = nonces.flatMap(({ attempts }) =>
    attempts.map(({ txHash, contract, to, amountBaseUnits }) => {
      return { txHash, from: key.wallet, contract, to, amountBaseUnits };
    }),
  );
  if (own.length === 0) return new Set();
  const { fates, disputed } = await reader.readFates(own, { atHeight, requireTwoSources: true, signal });
  return new Set([...fates.map(({ txHash }) => txHash), ...disputed]);
}
