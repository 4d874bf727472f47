import { hexlify, randomBytes } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { formatAmount } from '@opentill/domain/money';
import { DENIED_RECEIVER } from '@opentill/local/prepare-policy';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../chain-under-test.ts';
import type { MerchantClient } from '../merchant-client.ts';
import { randomInteger, type Random } from '../random.ts';
import type { PayoutTerms } from './facts.ts';

export type CreatedPayout = Omit<PayoutTerms, 'reorganised'>;

export interface PlannedPayout {
  readonly orderId: string;
  readonly shop: MerchantClient;
  readonly chain: ChainUnderTest;
  readonly symbol: 'USDT' | 'USDC';
  readonly cents: bigint;
  readonly receiver: string;
  readonly refusal: string | null;
}

const CREATION_DEADLINE_MS = 600_000;
/** Every tenth payout goes to an address that the policy denies. */
const ONE_DENIED_OF = 10;
const ONE_OF_THE_SECOND_SHOP = 4;

export function planPayouts(
  count: number,
  chains: readonly [ChainUnderTest, ChainUnderTest],
  shops: readonly [MerchantClient, MerchantClient],
  random: Random,
  prefix: string,
): PlannedPayout[] {
  return Array.from({ length: count }, (_, index) => {
    const isDenied = index % ONE_DENIED_OF === ONE_DENIED_OF - 1;
    return {
      orderId: `${prefix}-out-${index}`,
      shop: shops[index % ONE_OF_THE_SECOND_SHOP === 3 ? 1 : 0],
      chain: chains[random() < 0.5 ? 0 : 1],
      symbol: random() < 0.5 ? 'USDT' : 'USDC',
      cents: BigInt(randomInteger(random, 1, 90_000)),
      receiver: isDenied ? DENIED_RECEIVER.toLowerCase() : hexlify(randomBytes(20)),
      refusal: isDenied ? 'Address denied' : null,
    };
  });
}

export async function payOut(planned: readonly PlannedPayout[], overMs: number): Promise<CreatedPayout[]> {
  return Promise.all(
    planned.map(async (payout, index) => {
      await abortableDelay((overMs * index) / planned.length);
      return createUntilAnswered(payout);
    }),
  );
}

/** Retries like a merchant's server; the same order id creates one payout. */
async function createUntilAnswered(payout: PlannedPayout): Promise<CreatedPayout> {
  const { orderId, shop, chain, symbol, cents, receiver, refusal } = payout;
  const amount = formatAmount(cents, 2, 2);
  const fields = { orderId, amount, symbol, chain: chain.chain, receiveAddress: receiver };
  const answers: OrderAnswer[] = [];
  await waitUntil(
    `${orderId} is created`,
    async () => {
      const { code, msg, data } = await shop.createPayout(fields);
      if (code !== 200) throw new Error(`${code} ${msg}`);
      if (data !== null) answers.push(data);
      return data !== null;
    },
    CREATION_DEADLINE_MS,
  );
  const [answer] = answers;
  if (answer === undefined) throw new Error(`${orderId} was not answered`);
  return {
    orderId,
    chain: chain.chain,
    symbol,
    contract: chain.contractOf(symbol).toLowerCase(),
    amountText: answer.amount,
    amount: chain.baseUnits(symbol, answer.amount),
    receiver,
    refusal,
  };
}
