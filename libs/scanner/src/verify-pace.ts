import type { ChainState } from './chain-state.ts';
import { seenBlock } from './chain-state.ts';
import { verifiableHeight } from './depth.ts';
import type { Scanning } from './scanning.ts';

/**
 * When to read blocks the verified way. Each reading costs calls to two sources, so blocks that no payment waits for
 * are read together: every `restIntervalMs`, and at each poll of a chain that never rests. A recorded payment is due
 * when the seen blocks make it deep enough. Larger orders wait for the cursor itself.
 */
export function createVerifyPace({ network, store, clock }: Pick<Scanning, 'network' | 'store' | 'clock'>) {
  const { chain, pollIntervalMs, restIntervalMs } = network;
  // Other families read each block as a whole: reading several together costs no fewer calls.
  const isAlways =
    network.family !== 'EVM' || restIntervalMs <= pollIntervalMs || network.hasDepthByAmount === true;
  let verifiedAtMs = Number.NEGATIVE_INFINITY;

  async function isPaymentDeep(state: ChainState): Promise<boolean> {
    const lowest = await store.lowestUnverified(chain, state.verifiedHeight);
    const linkedHeight = seenBlock(state).height;
    const facts = { linkedHeight, finalizedHeight: linkedHeight, isFinalityStale: false };
    return lowest !== undefined && lowest <= verifiableHeight(network, facts);
  }

  return {
    async isDue(state: ChainState): Promise<boolean> {
      // A timer may fire early.
      const isOld = clock.now().getTime() - verifiedAtMs >= restIntervalMs - pollIntervalMs / 2;
      return isAlways || isOld || isPaymentDeep(state);
    },
    verified(): void {
      verifiedAtMs = clock.now().getTime();
    },
  };
}
