import type { NoncePaying } from '../payouts/paying-network.ts';
import { driveWallet, type Driver, type DrivingDeps, type WalletParts } from '../wallet/drive-wallet.ts';
import { NO_NONCE_MARK, openNonceMark } from './nonce-mark.ts';
import { createPass } from './pass.ts';
import type { PassDeps, PassTiming } from './pass-deps.ts';
import { createPayoutStore } from './store/create-store.ts';
import { readKnownNonces } from './store/read-view.ts';
import { watchMark } from './watch-restored.ts';

export interface DriverDeps extends PassDeps, DrivingDeps {}

export function startDriver(deps: DriverDeps): Driver {
  return driveWallet(deps, () => createPass(deps));
}

export function openNonceDriver(
  parts: WalletParts,
  { terms, sender, reader }: NoncePaying,
  timing: Omit<PassTiming, 'bumpAfterMs'> & { readonly bumpAfterMs?: number },
): Driver {
  const { db, key, isHotWallet, observe, newId, clock, stateDirectory } = parts;
  const store = createPayoutStore(db, key, { newId, clock, isDeposit: !isHotWallet });
  const mark = isHotWallet ? openNonceMark(stateDirectory, key) : NO_NONCE_MARK;
  return startDriver({
    ...parts,
    terms,
    sender,
    reader,
    store,
    mark,
    ...(isHotWallet && {
      watchSent: async (lease) =>
        watchMark({ key, mark, store, observe, lease }, await readKnownNonces(db, key)),
    }),
    timing: { bumpAfterMs: terms.bumpAfterMs, ...timing },
  });
}
