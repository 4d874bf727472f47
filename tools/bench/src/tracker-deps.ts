import { loadDisplayForms } from '@opentill/confirmation-tracker/display-forms';
import type { HandlerDeps } from '@opentill/confirmation-tracker/handlers/settle-event';
import { newId } from '@opentill/runtime/ids';

/** For handlers of the tracker without a process. Throws when an order is not settled. */
export async function trackerDeps(db: HandlerDeps['db']): Promise<HandlerDeps> {
  const nothing = () => undefined;
  return {
    db,
    newId,
    clock: { now: () => new Date() },
    displayOf: await loadDisplayForms([]),
    verifiedDepths: new Map([['ETH_SEPOLIA', 3]]),
    tokens: [],
    dustBelow: () => 0n,
    nativeSymbolOf: () => 'ETH',
    wakeRelay: nothing,
    observe: {
      orderSettled: nothing,
      notSettled: (which, error) => {
        throw new Error(`not settled: ${JSON.stringify(which)}`, { cause: error });
      },
      transfersSwept: nothing,
      fatesSwept: nothing,
      topUpBooked: nothing,
      gasMadePayable: nothing,
      sweepFailed: nothing,
      presenceFailed: nothing,
      inboxRolled: nothing,
    },
  };
}
