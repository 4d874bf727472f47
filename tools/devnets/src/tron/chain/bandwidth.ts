import type { ResourceReceipt } from '../protobuf/messages.ts';
import type { Transaction } from '../protobuf/messages.ts';
import { encodeMessage } from '../protobuf/wire.ts';
import { toBase58 } from '../tron-address.ts';
import { accountOf, balanceOf, burn, headSlot, putAccount, totalsOf, type Execution } from './execution.ts';
import { LIMITS } from './parameters.ts';
import { invalid, refuse } from './refusal.ts';
import { bandwidthUsed, freeBandwidthUsed, resourceLimit, usageAfter } from './resources.ts';

/** Uses staked bandwidth, then daily free bandwidth, then TRX (BandwidthProcessor.consume of java-tron). */
export function chargeBandwidth(
  execution: Execution,
  charge: {
    readonly transaction: Transaction;
    readonly owner: Uint8Array;
    readonly createsAccount: boolean;
  },
): ResourceReceipt {
  const { state, parameters } = execution;
  const { owner, createsAccount } = charge;
  const account = accountOf(state, owner);
  if (account === undefined) return invalid(`account [${toBase58(owner)}] does not exist`);
  const { ret: _ret, ...signed } = charge.transaction;
  const bytes = encodeMessage('Transaction', signed).length + LIMITS.resultBytes;
  const slot = headSlot(execution);
  const lastOperationAtMs = execution.head.timestampMs;

  const limit = resourceLimit(account, 0, totalsOf(state), parameters);
  if (limit - bandwidthUsed(account, slot) >= bytes) {
    const used = usageAfter(account.bandwidthUsed, account.bandwidthSlot, bytes, slot);
    putAccount(state, owner, { ...account, bandwidthUsed: used, bandwidthSlot: slot, lastOperationAtMs });
    return { net_usage: BigInt(bytes) };
  }
  if (createsAccount) return payFor(execution, owner, BigInt(parameters.createAccountFee));
  if (parameters.freeNetLimit - freeBandwidthUsed(account, slot) >= bytes) {
    const freeUsed = usageAfter(account.freeBandwidthUsed, account.freeBandwidthSlot, bytes, slot);
    putAccount(state, owner, {
      ...account,
      freeBandwidthUsed: freeUsed,
      freeBandwidthSlot: slot,
      lastOperationAtMs,
    });
    return { net_usage: BigInt(bytes) };
  }
  return payFor(execution, owner, BigInt(bytes * parameters.transactionFee));
}

function payFor(execution: Execution, owner: Uint8Array, feeSun: bigint): ResourceReceipt {
  payBandwidthFee(execution, owner, feeSun);
  return { net_fee: feeSun };
}

export function payBandwidthFee(execution: Execution, owner: Uint8Array, feeSun: bigint): void {
  const { state } = execution;
  if (balanceOf(state, owner) < feeSun) refuse('BANDWITH_ERROR', 'Account resource insufficient error.');
  burn(state, owner, feeSun);
  const account = accountOf(state, owner);
  if (account) putAccount(state, owner, { ...account, lastOperationAtMs: execution.head.timestampMs });
}
