import type { Family } from '@opentill/domain/chains';
import { refusalOf } from '../answer.ts';
import type { DepositAddressPool, FreshAddress } from '../deposit-address-pool.ts';

/** Undefined while there is none: the request may be repeated. */
export function takeAddress(
  pool: Pick<DepositAddressPool, 'take'>,
  family: Family,
): Promise<FreshAddress | undefined> {
  return pool.take(family).catch((error: unknown) => {
    if (refusalOf(error) === 'SERVICE_UNAVAILABLE') return undefined; // the pool has logged the cause
    throw error;
  });
}
