import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { getAddress, hexlify, randomBytes } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { formatAmount } from '@opentill/domain/money';
import type { EvmDevnetChain } from '@opentill/local/gateway-options';
import { DENIED_RECEIVER } from '@opentill/local/prepare-policy';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { runOpentill } from '../src/run-opentill.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CREATED, FAILED, untilStory, WAY_OF_A_PAYOUT } from '../src/stories.ts';
import { WAIT_MS } from '../src/time-limits.ts';

export function describePayouts(under: () => GatewayUnderTest<RunningGateway>): void {
  const receiver = () => getAddress(hexlify(randomBytes(20)));
  const hotWallet = () => getAddress(under().gateway.wallet.evmHotWallet);

  async function payOut(
    chain: ChainUnderTest,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<OrderAnswer> {
    const orderId = under().newOrderId();
    const answer = await under().merchant.createPayout({
      orderId,
      amount: '12.34',
      symbol: 'USDT',
      chain: chain.chain,
      receiveAddress: receiver(),
      ...fields,
    });
    expect(answer).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
    return answer.data!;
  }

  const accounts = async (chain: ChainUnderTest, symbol = 'USDT') => {
    const rows = await under()
      .database.kysely.selectFrom('ledger_account')
      .select(({ fn }) => ['kind', fn.sum<bigint>('balance').as('balance')])
      .where('chain', '=', chain.chain as EvmDevnetChain)
      .where('symbol', '=', symbol)
      .groupBy('kind')
      .execute();
    const of = (kind: string) => rows.find((row) => row.kind === kind)?.balance ?? 0n;
    return {
      available: of('HOT_AVAILABLE'),
      promised: of('HOT_RESERVED') + of('IN_FLIGHT'),
      paidOut: of('PAID_OUT'),
    };
  };

  async function payAndLook(name: EvmDevnetChain): Promise<void> {
    const chain = under().chains[name];
    const before = await accounts(chain);
    const to = receiver();
    const order = await payOut(chain, { amount: '250.25', receiveAddress: to });
    expect(order).toMatchObject({ amount: '250.25', address: hotWallet(), paymentUrl: null });
    const units = chain.baseUnits('USDT', '250.25');
    expect((await accounts(chain)).available).toBe(before.available - units);
    expect(await under().merchant.pay(order.orderId)).toMatchObject({
      httpStatus: 404,
      msg: 'Order not found',
    });
    await untilStory(under().receiver, order, WAY_OF_A_PAYOUT);

    expect(await chain.balance('USDT', to)).toBe(units);
    const callbacks = under().receiver.of(order.orderId);
    expect(callbacks.flatMap(({ problems }) => problems)).toEqual([]); // of both signature schemes
    const [created, sent, confirming, paid] = callbacks.map(({ data }) => data);
    expect([created!.transaction, sent!.transaction]).toEqual([null, null]);
    const { txid } = paid!.transaction!;
    expect(confirming!.transaction!.txid).toBe(txid);
    const mined = await chain.mined(txid);
    expect(paid).toMatchObject({
      orderType: 'PAYOUT',
      amount: '250.25',
      actualAmount: '250.25',
      transaction: {
        chain: name,
        symbol: 'USDT',
        contractAddress: chain.contractOf('USDT'),
        from: hotWallet(),
        to,
        amount: '250.25',
        blockNum: mined.blockNum,
        timestamp: mined.timestamp,
        txGas: formatAmount(mined.fee, chain.nativeDecimals, 0),
      },
    });
    const status = (await under().merchant.status(order.orderId)).data!;
    expect(status).toMatchObject({ status: 'SUCCESS', transaction: { txid, from: hotWallet(), to } });
    expect(await accounts(chain)).toMatchObject({
      available: before.available - units,
      promised: before.promised,
      paidOut: before.paidOut + units,
    });
  }

  async function ops<Answer>(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    const { opsUrl, directory } = under().gateway;
    const response = await fetch(`${opsUrl}/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${readFileSync(directory.operatorTokenFile, 'utf8').trim()}`,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    expect({ status: response.status, answer }).toMatchObject({ status: 200 });
    return answer;
  }

  // Concurrent payouts are of different tokens, whose balances the tests compare.
  describe('a payout', () => {
    it('waits while its asset is held, and continues after the release', async () => {
      const { BSC_TEST: bsc } = under().chains;
      const reason = 'a test of holds';
      await ops('POST', 'holds', { chain: 'BSC_TEST', symbol: 'USDT', reason });
      const order = await payOut(bsc);
      await waitUntil(
        'the obstacle ASSET_HELD is shown',
        async () => {
          const { data } = await ops<{ data: readonly { orderId: string; obstacle: string | null }[] }>(
            'GET',
            'payouts?stuck=true',
          );
          return data.some(
            (one) => one.orderId === order.orderId && one.obstacle?.startsWith('ASSET_HELD') === true,
          );
        },
        WAIT_MS,
      );
      await untilStory(under().receiver, order, [CREATED]);
      // Includes holds that reorganisations set.
      const { data: holds } = await ops<{ data: readonly { holdId: string }[] }>('GET', 'holds?open=true');
      for (const { holdId } of holds) await ops('POST', `holds/${holdId}/release`, { reason });
      await untilStory(under().receiver, order, WAY_OF_A_PAYOUT);
    });

    it.concurrent('sends the exact amount on both EVM chains, with four ordered callbacks', async () => {
      await Promise.all((['ETH_SEPOLIA', 'BSC_TEST'] as const).map(payAndLook));
    });

    it.concurrent('is rejected with 422 above the balance, and made once if requested twice', async () => {
      const { ETH_SEPOLIA: eth } = under().chains;
      const before = await accounts(eth, 'USDC');
      const fields = { symbol: 'USDC', chain: 'ETH_SEPOLIA', receiveAddress: receiver() };
      const tooMuch = { ...fields, amount: '1000000', orderId: under().newOrderId() };
      const little = await payOut(eth, { ...fields, amount: '0.01' }); // reduces the balance below the deposits
      expect(await under().merchant.createPayout(tooMuch)).toMatchObject({
        httpStatus: 422,
        code: 422,
        msg: 'Insufficient balance',
        data: null,
      });
      expect(await under().merchant.status(tooMuch.orderId)).toMatchObject({ httpStatus: 404 });
      const once = { ...fields, amount: '0.02', orderId: under().newOrderId() };
      const answers = await Promise.all([
        under().merchant.createPayout(once),
        under().merchant.createPayout(once),
      ]);
      expect(answers.map(({ data }) => data)).toEqual([answers[0].data, answers[0].data]);
      for (const paid of [little, answers[0].data!])
        await untilStory(under().receiver, paid, WAY_OF_A_PAYOUT);
      expect((await accounts(eth, 'USDC')).available).toBe(before.available - eth.baseUnits('USDC', '0.03'));
      expect(await eth.balance('USDC', fields.receiveAddress)).toBe(eth.baseUnits('USDC', '0.03'));
    });

    it.concurrent('waits for an approver above the threshold', async () => {
      const { BSC_TEST: bsc } = under().chains;
      const to = receiver();
      const order = await payOut(bsc, { amount: '5000.01', symbol: 'USDC', receiveAddress: to });
      const isWaiting = async () =>
        (
          await ops<{ data: readonly { orderId: string }[] }>('GET', 'payouts?waitingForApproval=true')
        ).data.some(({ orderId }) => orderId === order.orderId);
      await waitUntil('it waits for approval', isWaiting, WAIT_MS);
      const { out } = await runOpentill(under().gateway, ['payout', 'list', '--waiting']);
      const waiting = out.split('\n').find((line) => line.includes(order.orderId));
      await untilStory(under().receiver, order, [CREATED]);
      const { approverKeyFile, approverPassphraseFile } = under().gateway.policy;
      const [orderPk = ''] = waiting?.match(/^[0-9a-f-]{36}/) ?? [];
      const approved = await runOpentill(under().gateway, [
        'payout',
        'approve',
        orderPk,
        '--yes',
        '--key-file',
        approverKeyFile,
        '--passphrase-file',
        approverPassphraseFile,
      ]);
      expect(approved).toMatchObject({ code: 0, errors: '' });
      expect(approved.out).toContain(`Pay    5000.01 USDC on BNB Smart Chain (local devnet) (BSC_TEST)`);
      expect(approved.out).toContain(to.toLowerCase());
      await untilStory(under().receiver, order, WAY_OF_A_PAYOUT);
      expect(await bsc.balance('USDC', to)).toBe(bsc.baseUnits('USDC', '5000.01'));
    });

    it('fails with the reason outside the policy, and releases its amount', async () => {
      const { BSC_TEST: bsc } = under().chains;
      const before = await accounts(bsc);
      const denied = await payOut(bsc, { receiveAddress: DENIED_RECEIVER });
      const large = await payOut(bsc, { amount: '100000.01' });
      for (const [order, reason] of [
        [denied, 'Address denied'],
        [large, 'Limit per payout exceeded'],
      ] as const) {
        await untilStory(under().receiver, order, [CREATED, FAILED]);
        const { data } = await under().merchant.status(order.orderId);
        expect(data).toMatchObject({ status: 'FAILED', reason, transaction: null, actualAmount: null });
      }
      expect(await accounts(bsc)).toEqual(before);
    });
  });
}
