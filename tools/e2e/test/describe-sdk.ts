import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findFreePort } from '@opentill/test-servers/free-port';
import { createOpentill, type Opentill, type OpentillOptions } from '@opentill/sdk/client';
import type { OpentillError } from '@opentill/sdk/opentill-error';
import { verifyCallback, type Callback } from '@opentill/sdk/verify-callback';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

const RECEIVER = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';

export function describeSdk(under: () => GatewayUnderTest<RunningGateway>): void {
  const open = (options: Partial<OpentillOptions> = {}): Opentill =>
    createOpentill({
      url: under().gateway.apiUrl,
      token: under().merchantToken,
      timeoutMs: WAIT_MS,
      ...options,
    });
  const collection = (fields: object = {}) => ({
    orderId: under().newOrderId(),
    amount: '12.50',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA' as const,
    ...fields,
  });
  const failure = async (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

  describe('@opentill/sdk', () => {
    it.concurrent('receives a payment, from the order to the ORDER_SUCCESS callback', async () => {
      const { chains, receiver } = under();
      const opentill = open();
      const fields = collection({ uid: 7, description: 'Two books', returnUrl: undefined });
      const order = await opentill.createCollection(fields);
      expect(order).toMatchObject({
        orderId: fields.orderId,
        amount: '12.50',
        uid: '7',
        chain: 'ETH_SEPOLIA',
      });
      expect(await opentill.createCollection(fields)).toEqual(order);
      expect(await opentill.pay(order.orderId)).toMatchObject({ status: 'INIT', receivedAmount: '0.00' });
      await chains.ETH_SEPOLIA.pay({ to: order.address, symbol: 'USDT', amount: '12.50' });
      await waitUntil(
        'the ORDER_SUCCESS callback',
        () => receiver.of(order.orderId).some(({ notifyType }) => notifyType === 'ORDER_SUCCESS'),
        WAIT_MS,
      );
      expect(await opentill.getOrderStatus(order.orderId)).toBe('SUCCESS');
      const whole = await opentill.status(order.orderId);
      expect(whole).toMatchObject({ status: 'SUCCESS', actualAmount: '12.50', orderType: 'COLLECTION' });
      expect(receiver.of(order.orderId).at(-1)?.data.transaction?.txid).toBe(whole.transaction?.txid);
    });

    it.concurrent('makes a payout', async () => {
      const fields = collection({ receiveAddress: RECEIVER, amount: '1.25' });
      const payout = { ...fields, receiveAddress: RECEIVER };
      const order = await open().createPayout(payout);
      expect(order).toMatchObject({ orderId: fields.orderId, amount: '1.25', paymentUrl: null });
      const isPaid = () =>
        under()
          .receiver.of(order.orderId)
          .some(({ notifyType }) => notifyType === 'ORDER_SUCCESS');
      await waitUntil('the payout is final', isPaid, WAIT_MS);
      expect(await open().status(order.orderId)).toMatchObject({ orderType: 'PAYOUT', status: 'SUCCESS' });
    });

    it.concurrent('lists the tokens of a chain', async () => {
      const symbols = await open().supportSymbols({ chain: 'BSC_TEST' });
      expect(symbols.map(({ symbol, decimals }) => [symbol, decimals])).toEqual(
        expect.arrayContaining([
          ['USDT', 18],
          ['USDC', 18],
        ]),
      );
    });

    it('throws an error with its own code for each kind of failure', async () => {
      const opentill = open({ retries: 0 });
      const taken = collection();
      await opentill.createCollection(taken);
      const token = randomBytes(16).toString('hex');
      const closed = `http://127.0.0.1:${await findFreePort()}`;
      const elsewhere = new URL('/callbacks.json', under().gateway.shopUrl).href;
      const calls: Record<string, Promise<unknown>> = {
        INVALID_REQUEST: opentill.createCollection(collection({ amount: '12,50' })),
        UNAUTHORIZED: open({ retries: 0, token }).createCollection(collection()),
        NOT_FOUND: opentill.status(under().newOrderId()),
        CONFLICT: opentill.createCollection({ ...taken, amount: '13' }),
        UNPROCESSABLE: opentill.createPayout({
          ...collection({ amount: '999999' }),
          receiveAddress: RECEIVER,
        }),
        NO_ANSWER: open({ retries: 0, url: closed }).status('x'),
        UNREADABLE_ANSWER: open({ retries: 0, url: elsewhere }).status('x'),
      };
      const entries = Object.entries(calls).map(async ([code, call]) => [code, await failure(call)] as const);
      for (const [code, error] of await Promise.all(entries)) expect(error).toMatchObject({ code });
      expect(await failure(calls['INVALID_REQUEST'] ?? Promise.resolve())).toMatchObject({
        httpStatus: 400,
        msg: 'The amount cannot be left blank.',
        detail: "amount: '12,50' is not a decimal number; write 12.50",
        requestId: expect.stringMatching(/./),
      });
      let refused: readonly Error[] = [];
      const isTooOften = async (): Promise<boolean> => {
        const polls = Array.from({ length: 6 }, async () => failure(opentill.getOrderStatus(taken.orderId)));
        refused = (await Promise.all(polls)).filter((one) => one instanceof Error);
        return refused.length > 0; // on a slow machine six polls are within the limit
      };
      await waitUntil('more polls are refused than the limit allows', isTooOften, WAIT_MS);
      for (const error of refused) expect(error).toMatchObject({ code: 'RATE_LIMITED', httpStatus: 429 });
      expect((refused[0] as OpentillError).retryAfterMs).toBeGreaterThan(0);
      // With retries, the client waits for the time that the answer names.
      expect(await open().getOrderStatus(taken.orderId)).toBe('INIT');
    });

    it('verifies every received callback, raw and parsed', () => {
      const { receiver, webhookSecret } = under();
      expect(receiver.received.length).toBeGreaterThan(8);
      for (const { text, headers, notifyType, nonce, data } of receiver.received) {
        const options = {
          secrets: webhookSecret,
          now: () => new Date(Number(headers['webhook-timestamp']) * 1000),
        };
        const expected: Pick<Callback, 'notifyType' | 'nonce'> = { notifyType, nonce };
        expect(verifyCallback({ body: text, headers }, options)).toMatchObject({ ...expected, data });
        const parsed = JSON.parse(text) as object;
        expect(verifyCallback({ body: parsed, headers }, options)).toMatchObject({ ...expected, data });
        const stranger = { ...options, secrets: 'stranger' };
        expect(() => verifyCallback({ body: text, headers }, stranger)).toThrow(/no signature/);
      }
    });
  });
}
