import type { Db } from '@opentill/db/database';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { ExpiringView } from './attempt-store.ts';
import { readFeesElsewhere } from './fees-of-other-wallets.ts';
import { readHaltedWallets } from './halted-wallets.ts';

/** True if one wallet of the chain pays fees of others; see Sponsorship of libs/chain. */
export interface Sponsoring {
  readonly isSponsoring: boolean;
}

export async function readElsewhere(
  db: Db,
  key: WalletKey,
  { isSponsoring }: Sponsoring,
): Promise<Pick<ExpiringView, 'otherFees' | 'haltedWallets'>> {
  if (!isSponsoring) return { otherFees: [], haltedWallets: new Set() };
  // Sequential, because a transaction has one connection.
  const otherFees = await readFeesElsewhere(db, key);
  return { otherFees, haltedWallets: await readHaltedWallets(db, key) };
}
