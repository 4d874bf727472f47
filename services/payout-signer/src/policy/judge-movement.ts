import type { MovementKind } from '@opentill/db/sweep-tables';
import type { Chain } from '@opentill/domain/chains';
import type { Policy } from '@opentill/wallet/policy/policy';
import type { PolicyVerdict } from './policy-port.ts';

/** Lent energy may always be taken back. `toppedUpLastDay`: other top-ups of the chain in the last 24 hours. */
export function judgeMovement(
  policy: Policy,
  chain: Chain,
  kind: MovementKind,
  amountBaseUnits: bigint,
  toppedUpLastDay: bigint,
): PolicyVerdict {
  if (kind === 'UNDELEGATE') return { kind: 'AUTHORISED' };
  const rules = policy.chains.get(chain);
  if (rules === undefined) return refused('Chain not allowed');
  if (!rules.enabled) return refused('Chain disabled');
  const { sweep } = rules;
  if (sweep === undefined) return refused('Sweeps not allowed');
  if (kind === 'DELEGATE' && !sweep.stake) return refused('Energy is not lent');
  if (kind !== 'GAS_TOP_UP') return { kind: 'AUTHORISED' };
  if (amountBaseUnits > sweep.maxTopUpBaseUnits) return refused('Top-up too large');
  return toppedUpLastDay + amountBaseUnits > sweep.maxNativePerDayBaseUnits
    ? refused('Top-ups of the day exceeded')
    : { kind: 'AUTHORISED' };
}

function refused(reason: string): PolicyVerdict {
  return { kind: 'REFUSED', reason };
}
