import type { StakeContract } from '../protobuf/messages.ts';
import { withResource, resourceOf } from '../state/records.ts';
import type { State } from '../state/state.ts';
import { delegateResource, undelegateResource } from './delegate.ts';
import {
  balanceOf,
  changeBalance,
  putAccount,
  requireAccount,
  totalsOf,
  TOTALS_KEY,
  type Execution,
  type Outcome,
} from './execution.ts';
import { invalid } from './refusal.ts';

type Actuator = (execution: Execution, owner: Uint8Array, call: StakeContract) => Outcome;

/** Contracts of TRON's "stake 2.0". */
export const STAKE_ACTUATORS = {
  FreezeBalanceV2Contract: stake,
  UnfreezeBalanceV2Contract: unstake,
  WithdrawExpireUnfreezeContract: withdraw,
  CancelAllUnfreezeV2Contract: cancelUnstaking,
  DelegateResourceContract: delegateResource,
  UnDelegateResourceContract: undelegateResource,
} satisfies Record<string, Actuator>;

export function isStakeContract(type: string): type is keyof typeof STAKE_ACTUATORS {
  return Object.hasOwn(STAKE_ACTUATORS, type);
}

const SUN_PER_TRX = 1_000_000n;
const DAY_MS = 86_400_000;
const MAX_UNSTAKINGS = 32;

function stake({ state }: Execution, owner: Uint8Array, call: StakeContract): Outcome {
  const amountSun = call.frozen_balance ?? 0n;
  const resource = call.resource ?? 0;
  if (amountSun <= 0n) return invalid('frozenBalance must be positive');
  if (amountSun < SUN_PER_TRX) return invalid('frozenBalance must be greater than or equal to 1 TRX');
  if (amountSun > balanceOf(state, owner)) {
    return invalid('frozenBalance must be less than or equal to accountBalance');
  }
  requireResource(resource);
  const account = requireAccount(state, owner);
  changeBalance(state, owner, -amountSun);
  changeStake(state, owner, resource, amountSun, account.unstaking);
  return {};
}

function unstake(execution: Execution, owner: Uint8Array, call: StakeContract): Outcome {
  const { state, head, parameters } = execution;
  const resource = call.resource ?? 0;
  const amountSun = call.unfreeze_balance ?? 0n;
  requireResource(resource);
  const account = requireAccount(state, owner);
  const staked = resourceOf(account.staked, resource);
  const resourceName = resource === 1 ? 'ENERGY' : 'BANDWIDTH';
  if (staked === 0n) return invalid(`no frozenBalance(${resourceName})`);
  if (amountSun <= 0n || amountSun > staked) {
    return invalid(`Invalid unfreeze_balance, [${amountSun}] is error`);
  }
  if (account.unstaking.length >= MAX_UNSTAKINGS) {
    return invalid('Invalid unfreeze operation, unfreezing times is over limit');
  }
  // Unstaked amounts that waited 14 days are also paid out.
  const matured = account.unstaking.filter((entry) => entry.expiresAtMs <= head.timestampMs);
  const withdrawnSun = matured.reduce((sum, entry) => sum + entry.amountSun, 0n);
  if (withdrawnSun > 0n) changeBalance(state, owner, withdrawnSun);
  const expiresAtMs = head.timestampMs + parameters.unfreezeDelayDays * DAY_MS;
  changeStake(state, owner, resource, -amountSun, [
    ...account.unstaking.filter((entry) => entry.expiresAtMs > head.timestampMs),
    { resource, amountSun, expiresAtMs },
  ]);
  return { unfrozenSun: amountSun, withdrawnSun };
}

function withdraw({ state, head }: Execution, owner: Uint8Array): Outcome {
  const account = requireAccount(state, owner);
  const matured = account.unstaking.filter((entry) => entry.expiresAtMs <= head.timestampMs);
  const withdrawnSun = matured.reduce((sum, entry) => sum + entry.amountSun, 0n);
  if (withdrawnSun <= 0n) return invalid('no unFreeze balance to withdraw ');
  const unstaking = account.unstaking.filter((entry) => entry.expiresAtMs > head.timestampMs);
  putAccount(state, owner, { ...account, unstaking });
  changeBalance(state, owner, withdrawnSun);
  return { withdrawnSun };
}

function cancelUnstaking({ state, head }: Execution, owner: Uint8Array): Outcome {
  const { unstaking } = requireAccount(state, owner);
  if (unstaking.length === 0) return invalid('No unfreezeV2 list to cancel');
  let withdrawnSun = 0n;
  for (const { resource, amountSun, expiresAtMs } of unstaking) {
    if (expiresAtMs > head.timestampMs) changeStake(state, owner, resource, amountSun, []);
    else withdrawnSun += amountSun;
  }
  putAccount(state, owner, { ...requireAccount(state, owner), unstaking: [] });
  changeBalance(state, owner, withdrawnSun);
  return { withdrawnSun };
}

function requireResource(resource: number): void {
  if (resource !== 0 && resource !== 1) {
    invalid('ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]');
  }
}

/** Changes an account's stake and the total stake weight, which counts whole TRX. */
function changeStake(
  state: State,
  owner: Uint8Array,
  resource: number,
  changeSun: bigint,
  unstaking: ReturnType<typeof requireAccount>['unstaking'],
): void {
  const account = requireAccount(state, owner);
  const staked = withResource(account.staked, resource, changeSun);
  putAccount(state, owner, { ...account, staked, unstaking });
  const all = (sun: typeof staked): bigint =>
    (resourceOf(sun, resource) + resourceOf(account.delegatedOut, resource)) / SUN_PER_TRX;
  const totals = totalsOf(state);
  const weights = withResource(totals.weights, resource, all(staked) - all(account.staked));
  state.set('totals', TOTALS_KEY, { ...totals, weights });
}
