import type { StakeContract } from '../protobuf/messages.ts';
import { resourceOf, withResource, type TronAccount } from '../state/records.ts';
import type { State } from '../state/state.ts';
import { accountKey, hex, isAddress } from '../tron-address.ts';
import {
  accountOf,
  headSlot,
  putAccount,
  requireAccount,
  totalsOf,
  type Execution,
  type Outcome,
} from './execution.ts';
import { LIMITS } from './parameters.ts';
import { invalid } from './refusal.ts';
import { bandwidthUsed, energyUsed, usedStakeSun } from './resources.ts';

const SUN_PER_TRX = 1_000_000n;
/** Default lock of three days, in slots of three seconds. */
const DEFAULT_LOCK_SLOTS = 86_400n;

export function delegationKey(fromKey: string, toKey: string, resource: number): string {
  return `${fromKey}:${toKey}:${resource}`;
}

/** Own stake in sun that is unused and can be delegated. */
export function delegatableSun(
  execution: Pick<Execution, 'state' | 'parameters' | 'head'>,
  account: TronAccount,
  resource: number,
  slot: number,
): bigint {
  const { state, parameters } = execution;
  const used = usedStakeSun(account, resource, slot, totalsOf(state), parameters);
  const left = resourceOf(account.staked, resource) - used;
  return left > 0n ? left : 0n;
}

/** DelegateResourceActuator: delegates the resource of own stake to another account. */
export function delegateResource(execution: Execution, owner: Uint8Array, call: StakeContract): Outcome {
  const { state, head } = execution;
  const amountSun = call.balance ?? 0n;
  const resource = call.resource ?? 0;
  const account = requireAccount(state, owner);
  if (amountSun < SUN_PER_TRX) return invalid('delegateBalance must be greater than or equal to 1 TRX');
  const name = resource === 1 ? 'Energy' : 'Bandwidth';
  if (delegatableSun(execution, account, resource, headSlot(execution)) < amountSun) {
    return invalid(`delegateBalance must be less than or equal to available Freeze${name}V2 balance`);
  }
  const to = requireReceiver(state, owner, call);
  const receiver = requireAccount(state, to);
  if (receiver.kind === 'CONTRACT') return invalid('Do not allow delegate resources to contract addresses');
  putAccount(state, owner, {
    ...account,
    staked: withResource(account.staked, resource, -amountSun),
    delegatedOut: withResource(account.delegatedOut, resource, amountSun),
  });
  putAccount(state, to, {
    ...receiver,
    delegatedIn: withResource(receiver.delegatedIn, resource, amountSun),
  });
  const key = delegationKey(accountKey(owner), accountKey(to), resource);
  const before = state.get('delegation', key) ?? { amountSun: 0n, lockedUntilMs: 0 };
  const slots =
    call.lock_period === undefined || call.lock_period === 0n ? DEFAULT_LOCK_SLOTS : call.lock_period;
  const lockedUntilMs =
    call.lock === true ? head.timestampMs + Number(slots) * LIMITS.slotMs : before.lockedUntilMs;
  state.set('delegation', key, { amountSun: before.amountSun + amountSun, lockedUntilMs });
  return {};
}

/** UnDelegateResourceActuator: reclaims a delegation, with the receiver's share of usage. */
export function undelegateResource(execution: Execution, owner: Uint8Array, call: StakeContract): Outcome {
  const { state, head } = execution;
  const amountSun = call.balance ?? 0n;
  const resource = call.resource ?? 0;
  const to = requireReceiver(state, owner, call);
  const key = delegationKey(accountKey(owner), accountKey(to), resource);
  const delegation = state.get('delegation', key);
  if (delegation === undefined) return invalid('delegated Resource does not exist');
  if (amountSun <= 0n) return invalid('unDelegateBalance must be more than 0 TRX');
  const unlocked = delegation.lockedUntilMs > head.timestampMs ? 0n : delegation.amountSun;
  if (unlocked < amountSun) {
    const name = resource === 1 ? 'Energy' : 'BandWidth';
    return invalid(
      `insufficient delegatedFrozenBalance(${name}), request=${amountSun}, unlock_balance=${unlocked}`,
    );
  }
  const receiver = requireAccount(state, to);
  const account = requireAccount(state, owner);
  const returned = usageReturned(execution, receiver, resource, amountSun);
  putAccount(state, to, {
    ...withUsage(execution, receiver, resource, -returned),
    delegatedIn: withResource(receiver.delegatedIn, resource, -amountSun),
  });
  putAccount(state, owner, {
    ...withUsage(execution, account, resource, returned),
    staked: withResource(account.staked, resource, amountSun),
    delegatedOut: withResource(account.delegatedOut, resource, -amountSun),
  });
  const left = delegation.amountSun - amountSun;
  state.set('delegation', key, left === 0n ? undefined : { ...delegation, amountSun: left });
  return {};
}

function requireReceiver(state: State, owner: Uint8Array, call: StakeContract): Uint8Array {
  const to = call.receiver_address;
  if (!isAddress(to)) return invalid('Invalid receiverAddress');
  if (hex(to) === hex(owner)) return invalid('receiverAddress must not be the same as ownerAddress');
  if (accountOf(state, to) === undefined) return invalid(`Account[${hex(to)}] not exists`);
  return to;
}

function usageReturned(
  execution: Execution,
  receiver: TronAccount,
  resource: number,
  amountSun: bigint,
): number {
  const all = resourceOf(receiver.delegatedIn, resource) + resourceOf(receiver.staked, resource);
  const used =
    resource === 1 ? energyUsed(receiver, headSlot(execution)) : bandwidthUsed(receiver, headSlot(execution));
  return all === 0n ? 0 : Math.floor(used * (Number(amountSun) / Number(all)));
}

function withUsage(
  execution: Execution,
  account: TronAccount,
  resource: number,
  change: number,
): TronAccount {
  const slot = headSlot(execution);
  if (resource === 1) {
    return { ...account, energyUsed: energyUsed(account, slot) + change, energySlot: slot };
  }
  return { ...account, bandwidthUsed: bandwidthUsed(account, slot) + change, bandwidthSlot: slot };
}
