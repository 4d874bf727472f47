import { describe, expect, it } from 'vitest';
import { TronWeb, utils } from 'tronweb';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { formatAmount } from '@opentill/domain/money';
import { runOpentill } from '../src/run-opentill.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory } from '../src/stories.ts';
import type { TronUnderTest } from '../src/tron-under-test.ts';
import { collectionSteps, type OrderOptions } from './collection-steps.ts';

const CHAIN = 'TRON_TEST';
/** The devnet's first account; GET /devnet.json shows its key. */
const CUSTOMER = 'TYutY94JEfgZtSByUA9E3RSR1ghfSH5ox1';
const FEE_LIMIT_SUN = 100_000_000;

export function describeTron(under: () => GatewayUnderTest<RunningGateway>): void {
  const tron = (): TronUnderTest => under().tron!;

  const steps = collectionSteps(under);
  const { payThroughShop, lastOf, transfersTo, untilUnmatched } = steps;

  async function order(fields: OrderOptions = {}): Promise<OrderAnswer> {
    const collection = await steps.order(tron(), fields);
    expect(collection.address).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/);
    return collection;
  }

  async function payOut(fields: Readonly<Record<string, string>>) {
    return under().merchant.createPayout({
      orderId: under().newOrderId(),
      amount: '12.34',
      symbol: 'USDT',
      chain: CHAIN,
      ...fields,
    });
  }

  async function devnet(): Promise<{ rpcUrl: string; customer: { address: string; privateKey: string } }> {
    const response = await fetch(`${under().gateway.shopUrl}/devnet.json`);
    const { networks } = (await response.json()) as { networks: { chain: string }[] };
    return networks.find(({ chain }) => chain === CHAIN) as never;
  }

  /** Sends a token transfer by unmodified TronWeb, with the key of GET /devnet.json. */
  async function payByTronWeb(to: string, amountBaseUnits: bigint, symbol = 'USDT'): Promise<string> {
    const { rpcUrl, customer } = await devnet();
    expect({ rpcUrl, address: customer.address }).toEqual({ rpcUrl: tron().url, address: CUSTOMER });
    const tronWeb = new TronWeb({ fullHost: rpcUrl, privateKey: customer.privateKey });
    const { transaction } = await tronWeb.transactionBuilder.triggerSmartContract(
      tron().contractOf(symbol),
      'transfer(address,uint256)',
      { feeLimit: FEE_LIMIT_SUN, txLocal: true } as never,
      [
        { type: 'address', value: to },
        { type: 'uint256', value: `${amountBaseUnits}` },
      ],
      customer.address,
    );
    const sent = await tronWeb.trx.sendRawTransaction(await tronWeb.trx.sign(transaction));
    expect(sent).toMatchObject({ result: true });
    return transaction.txID;
  }

  async function transactionOf(collection: OrderAnswer, txid: string, amount: string) {
    const mined = await tron().mined(txid);
    return {
      chain: CHAIN,
      symbol: collection.symbol,
      contractAddress: tron().contractOf(collection.symbol),
      decimals: 6,
      txid,
      from: CUSTOMER,
      to: collection.address,
      amount,
      blockNum: mined.blockNum,
      timestamp: mined.timestamp,
      txGas: formatAmount(mined.fee, 6, 0),
    };
  }

  async function payAndLook(
    fields: OrderOptions,
    shown: string,
    pay: (collection: OrderAnswer) => Promise<string>,
  ): Promise<void> {
    const collection = await order(fields);
    const txid = await pay(collection);
    await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);
    const transaction = await transactionOf(collection, txid, shown);
    const callbacks = under().receiver.of(collection.orderId);
    expect(callbacks.flatMap(({ problems }) => problems)).toEqual([]); // of both signature schemes
    const [, confirming, paid] = callbacks.map(({ data }) => data);
    expect(confirming!.transaction).toMatchObject({ ...transaction, status: 'PENDING' });
    expect(paid).toMatchObject({ status: 'SUCCESS', amount: shown, actualAmount: shown });
    expect(paid!.transaction).toMatchObject({ ...transaction, status: 'SUCCESS' });
    expect((await under().merchant.status(collection.orderId)).data).toMatchObject({
      status: 'SUCCESS',
      transaction: { txid, from: CUSTOMER, to: collection.address },
    });
  }

  describe('on TRON', () => {
    it.concurrent('completes collections paid through the shop and by TronWeb', async () => {
      await Promise.all([
        payAndLook({ amount: '12.5' }, '12.50', payThroughShop),
        payAndLook({ amount: '0.010001', symbol: 'USDC' }, '0.010001', async ({ address }) =>
          payByTronWeb(address, 10_001n, 'USDC'),
        ),
      ]);
    });

    it.concurrent('handles partial payments, overpayment, a wrong token and a failed transfer', async () => {
      const inParts = async (): Promise<void> => {
        const collection = await order();
        await tron().pay({ to: collection.address, amount: '40' });
        await untilStory(under().receiver, collection, [CREATED, PENDING]);
        const txid = await tron().pay({ to: collection.address, amount: '60.5' });
        await untilStory(under().receiver, collection, [CREATED, PENDING, CONFIRMING, PAID]);
        expect(lastOf(collection)).toMatchObject({
          amount: '100.00',
          actualAmount: '100.50',
          transaction: { txid, amount: '60.50' },
        });
      };
      const otherwise = async (): Promise<void> => {
        const collection = await order();
        const failed = await payByTronWeb(collection.address, 10n ** 30n); // above the balance
        await tron().pay({ to: collection.address, amount: '100', symbol: 'USDC' });
        const txid = await payByTronWeb(collection.address, tron().baseUnits('USDT', '100'));
        await untilStory(under().receiver, collection, [CREATED, CONFIRMING, PAID]);
        expect(lastOf(collection)).toMatchObject({ actualAmount: '100.00', transaction: { txid } });
        await tron().mined(failed); // the failed transaction is in a block
        await untilUnmatched(collection, 'WRONG_TOKEN');
        const transfers = await transfersTo(collection);
        expect(transfers.toSorted((a, b) => a.symbol.localeCompare(b.symbol))).toMatchObject([
          { tx_hash: expect.any(String), symbol: 'USDC', reason: 'WRONG_TOKEN' },
          { tx_hash: txid, symbol: 'USDT', reason: null },
        ]);
      };
      await Promise.all([inParts(), otherwise()]);
    });

    it.concurrent('completes a payout with callbacks, and rejects forbidden receivers', async () => {
      const receiver = utils.accounts.generateAccount().address.base58;
      const { address: deposit } = await order();
      const { tronHotWallet, evmHotWallet } = under().gateway.wallet;
      const refused = { httpStatus: 400, code: 400, msg: 'ReceiveAddress error', data: null };
      for (const receiveAddress of [deposit, tronHotWallet, evmHotWallet, tron().contractOf('USDC')])
        expect(await payOut({ receiveAddress })).toMatchObject(refused);

      const { data: payout } = await payOut({ receiveAddress: receiver });
      expect(payout).toMatchObject({ amount: '12.34', address: tronHotWallet, paymentUrl: null });
      await untilStory(under().receiver, payout!, [CREATED, PENDING, CONFIRMING, PAID]);
      expect(await tron().balance('USDT', receiver)).toBe(tron().baseUnits('USDT', '12.34'));
      const { txid } = lastOf(payout!).transaction!;
      const mined = await tron().mined(txid);
      expect(lastOf(payout!)).toMatchObject({
        orderType: 'PAYOUT',
        actualAmount: '12.34',
        transaction: {
          chain: CHAIN,
          contractAddress: tron().contractOf('USDT'),
          from: tronHotWallet,
          to: receiver,
          blockNum: mined.blockNum,
          txGas: formatAmount(mined.fee, 6, 0),
        },
      });
    });

    it('reverts a payment that a fork drops, and counts the repeated payment', async () => {
      const collection = await order();
      await tron().control('pause');
      await tron().pay({ to: collection.address, amount: '100' });
      await tron().control('mine');
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING]);
      await tron().control('reorganise', { depth: 1, drop: true });
      await tron().control('resume');
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED]);
      expect(lastOf(collection)).toMatchObject({ reason: 'Reorganised' });
      const txid = await payThroughShop(collection);
      await untilStory(under().receiver, collection, [CREATED, CONFIRMING, CREATED, CONFIRMING, PAID]);
      expect(lastOf(collection)).toMatchObject({ actualAmount: '100.00', transaction: { txid } });
    });

    it('shows operators the scanner', async () => {
      const { out } = await runOpentill(under().gateway, ['chain', 'list']);
      expect(out).toMatch(/TRON_TEST.*scanner-tron/);
    });
  });
}
