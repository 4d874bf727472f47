import { getAddress, hexlify, randomBytes } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { formatAmount } from '@opentill/domain/money';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../chain-under-test.ts';
import type { Answered } from '../merchant-client.ts';
import type { GatewayUnderTest } from '../start-gateway-under-test.ts';

/** A collection or a payout as the api confirmed it. */
export interface ConfirmedOrder {
  readonly orderId: string;
  readonly chain: ChainUnderTest;
  readonly symbol: string;
  readonly amount: string;
  readonly baseUnits: bigint;
  /** Deposit address or receiver, lower case. Unique to this order. */
  readonly to: string;
}

export interface Traffic {
  readonly collections: readonly ConfirmedOrder[];
  readonly payouts: readonly ConfirmedOrder[];
  /** Creates a collection outside the loops, for a payment at a chosen moment. */
  collect(chain: ChainUnderTest): Promise<ConfirmedOrder>;
  /** Rejects with the first error of a loop; does not resolve. */
  readonly failed: Promise<never>;
  /** Resolves when the loops ended, each with its last order paid. */
  stop(): Promise<void>;
}

const SYMBOLS = ['USDT', 'USDC'] as const;
/** Accounts of the devnet. Payments of one account are serial. */
const TRAFFIC_ACCOUNTS = [2, 3] as const;
export const OTHER_ACCOUNT = 4;

export const pay = (order: ConfirmedOrder, account: number): Promise<string> =>
  order.chain.pay({ to: order.to, symbol: order.symbol, amount: order.amount, account });

export const isReportedPaid = ({ receiver }: GatewayUnderTest, { orderId }: ConfirmedOrder): boolean =>
  receiver.of(orderId).some(({ notifyType }) => notifyType === 'ORDER_SUCCESS');

/** Per chain, two collections and one payout at a time. The merchant retries after an answer of 503. */
export function keepPaying(under: GatewayUnderTest): Traffic {
  const collections: ConfirmedOrder[] = [];
  const payouts: ConfirmedOrder[] = [];
  let running = true;
  let places = 0;

  async function create(
    chain: ChainUnderTest,
    ask: (fields: Readonly<Record<string, string>>) => Promise<Answered<OrderAnswer>>,
  ): Promise<{ readonly terms: Omit<ConfirmedOrder, 'to'>; readonly address: string }> {
    const place = (places += 1);
    const orderId = under.newOrderId();
    const symbol = SYMBOLS[place % SYMBOLS.length] ?? 'USDT';
    const wanted = formatAmount(BigInt(5_000 + place), 2, 2);
    const { httpStatus, msg, data } = await ask({ orderId, amount: wanted, symbol, chain: chain.chain });
    if (data === null) throw new Error(`${orderId} was answered with ${httpStatus}: ${msg}`);
    const { amount, address } = data;
    const baseUnits = chain.baseUnits(symbol, amount);
    return { terms: { orderId, chain, symbol, amount, baseUnits }, address };
  }

  async function collect(chain: ChainUnderTest): Promise<ConfirmedOrder> {
    const { terms, address } = await create(chain, (fields) => under.merchant.createCollection(fields));
    const order = { ...terms, to: address.toLowerCase() };
    collections.push(order);
    return order;
  }

  async function payOut(chain: ChainUnderTest): Promise<ConfirmedOrder> {
    const receiveAddress = getAddress(hexlify(randomBytes(20)));
    const { terms } = await create(chain, (fields) =>
      under.merchant.createPayout({ ...fields, receiveAddress }),
    );
    const order = { ...terms, to: receiveAddress.toLowerCase() };
    payouts.push(order);
    return order;
  }

  async function keepCollecting(chain: ChainUnderTest, account: number): Promise<void> {
    while (running) {
      const order = await collect(chain);
      await pay(order, account);
      await waitUntil(`${order.orderId} is credited`, () => isReportedPaid(under, order));
    }
  }

  async function keepPayingOut(chain: ChainUnderTest): Promise<void> {
    while (running) {
      const order = await payOut(chain);
      await waitUntil(`${order.orderId} is paid out`, () => isReportedPaid(under, order));
    }
  }

  const loops = Object.values(under.chains).flatMap((chain) => [
    ...TRAFFIC_ACCOUNTS.map((account) => keepCollecting(chain, account)),
    keepPayingOut(chain),
  ]);
  const failed = new Promise<never>((_resolve, reject) => {
    for (const loop of loops) loop.catch(reject);
  });
  failed.catch(() => undefined); // the test races it
  return {
    collections,
    payouts,
    collect,
    failed,
    async stop() {
      running = false;
      await Promise.all(loops);
    },
  };
}
