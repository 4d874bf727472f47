import type { Lease, LeaseKeeper } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Scanning } from './scanning.ts';

/**
 * Makes the function that writes the chain's state to the database when it changed. Only the holder of the chain's lease
 * writes. A halt that an earlier holder stored holds until a round succeeds.
 */
export function createStatusReport({
  network: { chain },
  store,
  observe,
  lease,
}: Pick<Scanning, 'network' | 'store' | 'observe'> & {
  readonly lease: Pick<LeaseKeeper, 'current'>;
}): () => Promise<void> {
  let reported: { readonly token: Lease['fencingToken']; readonly text: string } | undefined;
  return async () => {
    const held = lease.current();
    if (held === undefined) return;
    try {
      if (reported?.token !== held.fencingToken) {
        const stored = await store.readStatus(chain);
        if (stored?.state === 'HALTED') observe.inheritedHalt(chain, stored.reason ?? 'UNKNOWN');
      }
      const status = observe.status(chain);
      const text = JSON.stringify(status);
      if (reported?.token === held.fencingToken && reported.text === text) return;
      await store.writeStatus(held, chain, status);
      reported = { token: held.fencingToken, text };
    } catch (error) {
      // The next holder reports.
      if (error instanceof GatewayError && error.code === 'LEASE_LOST') return;
      throw error;
    }
  };
}
