import type { ExpiringPaying } from '../payouts/paying-network.ts';
import { driveWallet, type Driver, type DrivingDeps, type WalletParts } from '../wallet/drive-wallet.ts';
import { createExpiringPass } from './pass.ts';
import type { ExpiringPassDeps, ExpiringTiming } from './pass-deps.ts';
import { NO_SEND_MARK, openSendMark } from './send-mark.ts';
import { createAttemptStore } from './store/create-store.ts';
import { readState } from './store/read-view.ts';
import { checkSendMark } from './check-send-mark.ts';

export interface ExpiringDriverDeps extends ExpiringPassDeps, DrivingDeps {}

/** Pools forget a transaction after one minute, and it lives for one or two. */
const RESEND_MAX_MS = 10_000;

export function startExpiringDriver(deps: ExpiringDriverDeps): Driver {
  return driveWallet(deps, () => createExpiringPass(deps));
}

export function openExpiringDriver(
  parts: WalletParts,
  { terms, sender }: ExpiringPaying,
  timing: ExpiringTiming,
): Driver {
  const { db, key, isHotWallet, observe, newId, clock, stateDirectory } = parts;
  const isSponsoring = sender.sponsorship !== undefined;
  const store = createAttemptStore(db, key, { newId, clock, isSponsoring });
  const mark = isHotWallet ? openSendMark(stateDirectory, key) : NO_SEND_MARK;
  return startExpiringDriver({
    ...parts,
    terms,
    sender,
    store,
    mark,
    ...(isHotWallet && {
      watchSent: async (lease) => {
        const state = await readState(db, key);
        return (await checkSendMark({ key, mark, store, observe, lease }, state)) === 'CHAIN_AHEAD';
      },
    }),
    timing: { ...timing, resendMaxMs: Math.min(timing.resendMaxMs, RESEND_MAX_MS) },
  });
}
