import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { formatAmount } from '@opentill/domain/money';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { MerchantClient } from '../merchant-client.ts';
import { randomInteger, shuffled, type Random } from '../random.ts';
import type { ChainCustomers } from './chain-customers.ts';
import type { OrderTerms } from './facts.ts';

export type StoryKind =
  | 'full'
  | 'in parts'
  | 'too much'
  | 'twice'
  | 'never'
  | 'too little'
  | 'the rest too late'
  | 'too late'
  | 'another token'
  | 'another token first'
  | 'another chain';

export type CreatedOrder = Omit<OrderTerms, 'reorganised'>;

export interface Story {
  readonly kind: StoryKind;
  readonly orderId: string;
  readonly shop: MerchantClient;
  readonly customers: ChainCustomers;
  /** Pay on the wrong chain. */
  readonly elsewhere: ChainCustomers;
  readonly symbol: 'USDT' | 'USDC';
  readonly cents: bigint;
}

const SHORT_LIFE_SECONDS = 60;
/** Distance of payments from expiry, because a reorganisation can move a payment by a few blocks. */
const MARGIN_SECONDS = 8;
const CREATION_DEADLINE_MS = 600_000;
const SHORT_LIVED: readonly StoryKind[] = ['never', 'too little', 'the rest too late', 'too late'];

/** Stories in random order, on both chains and in both tokens. Every fourth story uses the second shop. */
export function planStories(
  counts: Readonly<Partial<Record<StoryKind, number>>>,
  customers: readonly [ChainCustomers, ChainCustomers],
  shops: readonly [MerchantClient, MerchantClient],
  random: Random,
  prefix: string,
): Story[] {
  const kinds = Object.entries(counts).flatMap(([kind, count]) =>
    Array.from({ length: count }, () => kind as StoryKind),
  );
  const story = (kind: StoryKind, index: number): Story => {
    const first = random() < 0.5;
    return {
      kind,
      orderId: `${prefix}-${index}`,
      shop: shops[index % 4 === 3 ? 1 : 0],
      customers: customers[first ? 0 : 1],
      elsewhere: customers[first ? 1 : 0],
      symbol: random() < 0.5 ? 'USDT' : 'USDC',
      cents: BigInt(randomInteger(random, 100, 90_000)),
    };
  };
  // Expiring orders come first, so that the run does not wait for them at the end.
  const [short, long] = [true, false].map((isShort) =>
    shuffled(
      random,
      kinds.filter((kind) => SHORT_LIVED.includes(kind) === isShort),
    ),
  );
  return [...(short ?? []), ...(long ?? [])].map(story);
}

/** Starts the stories evenly over `overMs`. Resolves with the orders when the last payment is sent. */
export async function liveThrough(stories: readonly Story[], overMs: number): Promise<CreatedOrder[]> {
  return Promise.all(
    stories.map(async (story, index) => {
      await abortableDelay((overMs * index) / stories.length);
      return live(story);
    }),
  );
}

async function live(story: Story): Promise<CreatedOrder> {
  const { customers, elsewhere, symbol, kind } = story;
  const order = await createUntilAnswered(story);
  const to = order.address;
  const whole = order.amountText;
  const part = formatAmount(story.cents / 3n, 2, 2);
  const rest = formatAmount(story.cents - story.cents / 3n, 2, 2);
  const other = symbol === 'USDT' ? 'USDC' : 'USDT';
  const pay = async (amount: string): Promise<void> => customers.pay({ to, symbol, amount });
  const untilOver = async (): Promise<void> =>
    waitForChainTime(story, order.expiresAtSeconds + MARGIN_SECONDS);
  const isStillInTime = async (): Promise<boolean> =>
    (await chainTime(story)) < order.expiresAtSeconds - MARGIN_SECONDS;
  switch (kind) {
    case 'full':
      await pay(whole);
      break;
    case 'in parts':
      await pay(part);
      await abortableDelay(2_000);
      await pay(rest);
      break;
    case 'too much':
      await pay(part);
      await pay(whole);
      break;
    case 'twice':
      await pay(whole);
      await abortableDelay(8_000);
      await pay(whole);
      break;
    case 'never':
      break;
    case 'too little':
      if (await isStillInTime()) await pay(part);
      break;
    case 'the rest too late':
      if (await isStillInTime()) await pay(part);
      await untilOver();
      await pay(rest);
      break;
    case 'too late':
      await untilOver();
      await pay(whole);
      break;
    case 'another token':
      await customers.pay({ to, symbol: other, amount: whole });
      break;
    case 'another token first':
      await customers.pay({ to, symbol: other, amount: whole });
      await pay(whole);
      break;
    case 'another chain':
      await elsewhere.pay({ to, symbol, amount: whole });
      break;
  }
  return order;
}

/** Retries like a merchant's server; creation is idempotent. */
async function createUntilAnswered(story: Story): Promise<CreatedOrder> {
  const { chain } = story.customers;
  const isShort = SHORT_LIVED.includes(story.kind);
  const fields = {
    orderId: story.orderId,
    amount: formatAmount(story.cents, 2, 2),
    symbol: story.symbol,
    chain: chain.chain,
    ...(isShort ? { expiresIn: SHORT_LIFE_SECONDS } : {}),
  };
  const answers: OrderAnswer[] = [];
  await waitUntil(
    `${story.orderId} is created`,
    async () => {
      const { code, msg, data } = await story.shop.createCollection(fields);
      if (code !== 200) throw new Error(`${code} ${msg}`);
      if (data !== null) answers.push(data);
      return data !== null;
    },
    CREATION_DEADLINE_MS,
  );
  const [answer] = answers;
  if (answer === undefined) throw new Error(`${story.orderId} was not answered`);
  const { address, amount, expiredTime, symbol } = answer;
  return {
    orderId: story.orderId,
    chain: chain.chain,
    symbol,
    contract: chain.contractOf(symbol).toLowerCase(),
    amountText: amount,
    amount: chain.baseUnits(symbol, amount),
    address: address.toLowerCase(),
    expiresAtSeconds: expiredTime,
  };
}

async function chainTime({ customers }: Story): Promise<number> {
  const block = await callRpc<{ timestamp: string }>(customers.chain.rpcUrl, 'eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  return Number(block.timestamp);
}

async function waitForChainTime(story: Story, seconds: number): Promise<void> {
  const what = `the time of ${story.customers.chain.chain} reaches the end of ${story.orderId}`;
  await waitUntil(what, async () => (await chainTime(story)) > seconds, (SHORT_LIFE_SECONDS + 60) * 1_000);
}
