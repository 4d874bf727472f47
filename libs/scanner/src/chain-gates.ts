import { checkFailureOf, type CheckFailure } from '@opentill/chain/check-failure';
import type { Clock } from '@opentill/runtime/clock';
import { createStartGates, type StartGates } from '@opentill/runtime/start-gates';

/**
 * Start-up checks of a scanner's chains. A chain that fails them is left out and checked again.
 * @param onNoneUsable receives the error when every chain is left out
 */
export function createChainGates(
  clock: Clock,
  onNoneUsable: (error: unknown) => void,
): StartGates<CheckFailure> {
  return createStartGates({
    failureOf: checkFailureOf,
    nowMs: () => clock.now().getTime(),
    onNoneUsable,
  });
}
