import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { resourceOf } from '../payouts/resource-of-movement.ts';
import type { Movement, PayoutFacts } from '../payouts/payout-facts.ts';
import { configuredContract, type CheckedIntent, type IntentRules } from './intent-rules.ts';

const MOVEMENT_NOT_ALLOWED = 'Movement not allowed';

type Moving = Omit<PayoutFacts, 'movement'> & { readonly movement: Movement };

/**
 * A movement may only go between places that this process knows without the database: hot wallets whose keys it has,
 * deposit addresses that it derives from its seed, and the cold address of the sealed policy. So a third party who
 * writes rows cannot redirect money (docs/architecture/sweeps.md).
 */
export function checkMovement(payout: Moving, rules: IntentRules): CheckedIntent {
  const { codec } = rules;
  const asset = assetOf(payout, rules);
  if (asset === undefined) return { kind: 'OBSTACLE', obstacle: 'CONFIG_MISMATCH' };
  const to = codec.parse(payout.receiver);
  const isRight =
    to !== undefined &&
    to === payout.receiver &&
    to !== payout.wallet &&
    payout.amountBaseUnits > 0n &&
    isBetweenOurs(payout, to, rules) &&
    (asset.contract === null || !isForNativeCoin(payout.movement));
  if (!isRight) return { kind: 'REFUSED', reason: MOVEMENT_NOT_ALLOWED };
  return { kind: 'INTENT', intent: intentOf(payout, asset.contract, to) };
}

/** Native coin pays fees even if it is no configured token. */
function assetOf(
  payout: Moving,
  rules: IntentRules,
): { readonly contract: TokenContract | null } | undefined {
  const { network } = rules;
  const isNative = payout.contract === null && payout.symbol === network.nativeSymbol;
  if (isNative) return payout.decimals === network.nativeDecimals ? { contract: null } : undefined;
  const known = configuredContract(payout, rules);
  return known === undefined || known === null ? undefined : { contract: known };
}

function isBetweenOurs(payout: Moving, to: Address, rules: IntentRules): boolean {
  const { wallet: from, movement } = payout;
  const isHot = (address: Address) => rules.ownWallets.includes(address);
  const isDeposit = (address: Address) =>
    movement.depositIndex !== null && rules.isDepositAddress(address, movement.depositIndex);
  const isCold = (address: Address) => rules.policy.coldAddressOf(rules.network.chain) === address;
  switch (movement.kind) {
    case 'SWEEP':
      return isDeposit(from) && (isCold(to) || isHot(to));
    case 'GAS_TOP_UP':
    case 'DELEGATE':
    case 'UNDELEGATE':
      return isHot(from) && isDeposit(to);
    case 'TO_COLD':
      return isHot(from) && isCold(to);
    case 'REFUND':
      return false;
  }
}

function isForNativeCoin({ kind }: Movement): boolean {
  return kind === 'GAS_TOP_UP' || kind === 'DELEGATE' || kind === 'UNDELEGATE';
}

function intentOf(
  { wallet, amountBaseUnits, movement }: Moving,
  contract: TokenContract | null,
  to: Address,
): PaymentIntent {
  return { from: wallet, contract, to, amountBaseUnits, ...resourceOf(movement.kind) };
}
