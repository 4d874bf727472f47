import { expect } from 'vitest';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

/** Required by the EVM chains of `npm start`. */
export const CONFIRMATIONS = 3;

export interface OrderOptions {
  readonly amount?: string;
  readonly symbol?: string;
  readonly expiresIn?: number;
}

/** Steps of tests of collections, on any chain. */
export function collectionSteps(under: () => GatewayUnderTest<RunningGateway>) {
  async function order(chain: { readonly chain: string }, options: OrderOptions = {}): Promise<OrderAnswer> {
    const orderId = under().newOrderId();
    const fields = { orderId, amount: '100', symbol: 'USDT', chain: chain.chain, ...options };
    const answer = await under().merchant.createCollection(fields);
    expect(answer).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
    return answer.data!;
  }

  /** Lets the demo shop's test customer pay. @returns the transaction's id */
  async function payThroughShop({ orderId }: OrderAnswer): Promise<string> {
    const response = await fetch(`${under().gateway.shopUrl}/devnet/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ orderId }),
    });
    const answer = (await response.json()) as { txid: string };
    expect({ status: response.status, answer }).toMatchObject({ status: 200 });
    return answer.txid;
  }

  async function untilLast({ orderId }: OrderAnswer, last: string): Promise<void> {
    const latest = () => under().receiver.story(orderId).at(-1);
    await waitUntil(`${orderId}: ${last}`, () => latest() === last, WAIT_MS).catch(() => undefined);
    expect([orderId, latest()]).toEqual([orderId, last]); // on a timeout, shows the actual callback
  }

  const lastOf = ({ orderId }: OrderAnswer) => under().receiver.of(orderId).at(-1)!.data;

  async function transfersTo(collection: OrderAnswer) {
    return under()
      .database.kysely.selectFrom('transfer as t')
      .leftJoin('transfer_settlement as s', 's.transfer_id', 't.transfer_id')
      .leftJoin('unmatched_deposit as u', 'u.transfer_id', 't.transfer_id')
      .select(['t.tx_hash', 't.symbol', 't.state', 's.booked', 's.credited', 'u.reason'])
      .where('t.to_address', 'in', [collection.address, collection.address.toLowerCase()]) // of TRON, of EVM chains
      .orderBy('t.transfer_id')
      .execute();
  }

  async function untilUnmatched(collection: OrderAnswer, reason: string): Promise<void> {
    await waitUntil(
      `an unmatched deposit: ${reason}`,
      async () => (await transfersTo(collection)).some((transfer) => transfer.reason === reason),
      WAIT_MS,
    );
  }

  return { order, payThroughShop, untilLast, lastOf, transfersTo, untilUnmatched };
}
