import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { kindOf } from '@opentill/contracts/network-kind';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';
import { approvalText } from '@opentill/wallet/policy/approval';
import type { Policy } from '@opentill/wallet/policy/policy';
import { judgeByPolicy } from './judge-by-policy.ts';

/** An operator names the receiver of a refund. So on a main network only the policy's approvers permit it. */

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const alice = {
  name: 'alice',
  publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
};
const CONTRACT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const WALLET = '0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650' as Address;
const RECEIVER = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address;
const high = baseUnits(1_000n);
const asset = {
  contract: CONTRACT,
  decimals: 6,
  displayDecimals: 2,
  maxPerPayoutBaseUnits: high,
  maxPerHourBaseUnits: high,
  maxPerDayBaseUnits: high,
  maxPerMerchantPerDayBaseUnits: high,
  approvalAboveBaseUnits: undefined,
  floatBaseUnits: undefined,
  sweepMinBaseUnits: undefined,
};
const chainPolicy = {
  enabled: true,
  coldAddress: undefined,
  sweep: undefined,
  assets: new Map([['USDT', asset]]),
};
const policyOf = (approvers: Policy['approvers']): Policy => ({
  chains: new Map([
    ['ETH', chainPolicy],
    ['ETH_SEPOLIA', chainPolicy],
  ]),
  allow: new Map(),
  deny: new Map(),
  coolingMs: 0,
  approvers,
  approvalsRequired: 1,
  approvalWaitMs: 1_000,
  maxAttemptsWithoutDecision: 2,
});
const order = {
  wallet: WALLET,
  contract: CONTRACT,
  symbol: 'USDT',
  decimals: 6,
  amountBaseUnits: baseUnits(10n),
  receiver: RECEIVER,
  merchantId: 'm',
  orderPk: '0198c0de-0000-7000-8000-000000000001',
};
type Question = Parameters<ReturnType<typeof judgeByPolicy>['judge']>[0];
const ask = (policy: Policy, chain: Chain, signed = false, kind: 'REFUND' | null = 'REFUND') =>
  judgeByPolicy(policy, kindOf({ chain })).judge({
    chain,
    payout: {
      ...order,
      movement: kind === null ? null : { kind },
      approvals: signed
        ? [
            {
              approver: alice.publicKey,
              signature: sign(null, Buffer.from(approvalText({ ...order, chain })), privateKey),
            },
          ]
        : [],
    },
    intent: { from: WALLET, contract: CONTRACT, to: RECEIVER, amountBaseUnits: order.amountBaseUnits },
    spent: { lastHour: 0n, lastDay: 0n, merchantLastDay: 0n },
    waitingSince: null,
    now: new Date('2026-11-23T12:00:00Z'),
  } as unknown as Question);

describe('refund on a main network', () => {
  test('refuses a refund when the policy names no approvers', () => {
    expect(ask(policyOf([]), 'ETH')).toEqual({ kind: 'REFUSED', reason: 'Refund needs approvers' });
    expect(ask(policyOf([]), 'ETH', false, null)).toEqual({ kind: 'AUTHORISED' });
  });

  test('requires the signature of an approver for a refund of any amount', () => {
    expect(ask(policyOf([alice]), 'ETH')).toMatchObject({ kind: 'NEEDS_APPROVAL', required: 1, given: 0 });
    expect(ask(policyOf([alice]), 'ETH', true)).toEqual({ kind: 'AUTHORISED' });
  });
});

test('allows a refund on a test network whose policy names no approvers', () => {
  expect(ask(policyOf([]), 'ETH_SEPOLIA')).toEqual({ kind: 'AUTHORISED' });
});
