import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readFates } from '../families.ts';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import { adoptMovement, type Moved, type Work } from './store/adopt-movement.ts';
import { findDepositAddresses, type OwnPlaces } from './store/deposits.ts';
import { readPayments } from './store/restored-rows.ts';

const FATES_PER_CALL = 100;

export interface AdoptedMovements {
  readonly adopted: number;
  readonly waitsFor: readonly string[];
}

/**
 * Sweeps, fee top-ups of deposit addresses, and transfers from hot wallets to cold storage. Writes the rows that
 * planner and signer had written. Then the scanner records each outcome, and the tracker settles it once.
 */
export async function adoptMovements(
  db: Db,
  network: NetworkConfig,
  { chain, anchor }: { readonly chain: Chain; readonly anchor: Anchor },
  places: OwnPlaces,
): Promise<AdoptedMovements> {
  const forgotten = (await readPayments(db, { chain })).flatMap((payment): Moved[] => {
    const { pays } = payment;
    return pays === undefined || pays === null ? [] : [{ ...payment, pays }];
  });
  const addresses = forgotten.flatMap(({ wallet, pays }) => [wallet, pays.to]);
  const deposits = await findDepositAddresses(db, network.family, addresses);
  const fates = new Map<string, TransactionFate>();
  for (let from = 0; from < forgotten.length; from += FATES_PER_CALL)
    for (const fate of await readFates(network, anchor, forgotten.slice(from, from + FATES_PER_CALL)))
      fates.set(fate.txHash, fate);
  const waitsFor: string[] = [];
  let adopted = 0;
  for (const payment of forgotten.toSorted((a, b) => a.blockHeight - b.blockHeight)) {
    const work = workOf(payment, places, deposits);
    if (work === undefined) continue;
    const fate = fates.get(payment.txHash);
    if (fate === undefined) {
      waitsFor.push(`two sources that agree on the outcome of ${payment.txHash}`);
      continue;
    }
    try {
      await adoptMovement(db, network, payment, work, places, fate);
      adopted += 1;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'RESTORE_NOT_RECONCILED') throw error;
      waitsFor.push(error.message);
    }
  }
  return { adopted, waitsFor };
}

/** Undefined: no transaction that the gateway makes by itself. */
function workOf(
  { wallet, pays }: Moved,
  { hot, cold }: OwnPlaces,
  deposits: ReadonlySet<string>,
): Work | undefined {
  if (deposits.has(wallet)) return hot.has(pays.to) || cold.has(pays.to) ? 'SWEEP' : undefined;
  if (!hot.has(wallet)) return undefined;
  if (deposits.has(pays.to) && pays.contract === null) return 'GAS_TOP_UP';
  return cold.has(pays.to) ? 'TO_COLD' : undefined;
}
