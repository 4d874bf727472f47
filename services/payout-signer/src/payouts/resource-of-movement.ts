import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { MovementKind } from '@opentill/db/sweep-tables';

export function resourceOf(kind: MovementKind | null): Pick<PaymentIntent, 'resource'> {
  if (kind === 'DELEGATE') return { resource: 'LEND_ENERGY' };
  return kind === 'UNDELEGATE' ? { resource: 'TAKE_ENERGY_BACK' } : {};
}
