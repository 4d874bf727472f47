import { generateKeyPairSync, sign } from 'node:crypto';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { OrderRow } from '@opentill/testkit/scenario';
import { approvalText } from '@opentill/wallet/policy/approval';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { policyCheckOf } from '../world/test-policy.ts';
import { CHAIN, USDT, type StaticChainWorld } from './static-chain-world.ts';

export interface PolicyMaker {
  /** Display units. Missing limits are unlimited. */
  policy(limits?: Readonly<Record<string, string>>, more?: Readonly<Record<string, unknown>>): PolicyJudge;
  approve(order: OrderRow): Promise<void>;
  another(): { readonly approvers: readonly unknown[]; approve(order: OrderRow): Promise<void> };
}

export function policyFor({
  network,
  admin,
  wallet,
}: Pick<StaticChainWorld, 'network' | 'admin' | 'wallet'>): PolicyMaker {
  const alice = createApprover();
  return {
    policy: (limits = {}, more = {}) =>
      policyCheckOf(network, {
        asset: limits,
        more: {
          approvers: [{ name: 'alice', publicKey: alice.publicKey }],
          approvalsRequired: 1,
          ...more,
        },
      }),
    approve: (order) => approve(order, alice),
    another() {
      const bob = createApprover();
      const approvers = Object.entries({ alice, bob }).map(([name, { publicKey }]) => ({ name, publicKey }));
      return { approvers, approve: (order) => approve(order, bob) };
    },
  };

  async function approve(order: OrderRow, { publicKey, sign: signText }: Approver): Promise<void> {
    const text = approvalText({
      chain: CHAIN,
      wallet,
      contract: USDT,
      symbol: 'USDT',
      amountBaseUnits: order.amount,
      receiver: order.address as Address,
      merchantId: order.merchant_id,
      orderPk: order.order_pk,
    });
    await sql`insert into payout_approval (order_pk, approver, signature)
      values (${order.order_pk}, ${publicKey}, ${signText(text)})`.execute(admin);
  }
}

interface Approver {
  readonly publicKey: string;
  sign(text: string): Buffer;
}

function createApprover(): Approver {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
    sign: (text) => sign(null, Buffer.from(text), privateKey),
  };
}
