import { waitUntil } from '@opentill/testkit/wait-until';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import type { ChainCustomers } from '../chaos/chain-customers.ts';
import { liveThrough, planStories, type CreatedOrder } from '../chaos/live-through-stories.ts';
import { payOut, planPayouts, type CreatedPayout } from '../chaos/pay-out.ts';
import type { Answered, MerchantClient } from '../merchant-client.ts';
import type { Random } from '../random.ts';

/** Counts requests, and those that got no answer or another one than 200. */
export interface RequestCount {
  requests: number;
  answered: number;
  readonly failed: string[];
}

/** Hundreds of merchants that repeat at once would take the processor from the pods that fail over. */
const RETRY_AFTER_MS = 1_000;

export function countRequests(client: MerchantClient, count: RequestCount): MerchantClient {
  const fail = async (reason: string): Promise<void> => {
    count.failed.push(reason);
    await abortableDelay(RETRY_AFTER_MS);
  };
  const counted = async <Data>(ask: () => Promise<Answered<Data>>): Promise<Answered<Data>> => {
    count.requests += 1;
    try {
      const answer = await ask();
      if (answer.httpStatus === 200) count.answered += 1;
      else await fail(`${answer.httpStatus} ${answer.msg}`);
      return answer;
    } catch (error) {
      const { message, cause } = error as Error;
      await fail(`${message}: ${String((cause as Error | undefined)?.message)}`);
      throw error;
    }
  };
  return {
    createCollection: async (data) => counted(() => client.createCollection(data)),
    createPayout: async (data) => counted(() => client.createPayout(data)),
    status: async (orderId) => counted(() => client.status(orderId)),
    pay: async (orderId) => counted(() => client.pay(orderId)),
    getOrderStatus: async (orderId) => counted(() => client.getOrderStatus(orderId)),
    link: async (operation, data) => counted(() => client.link(operation, data)),
  };
}

export interface Load {
  readonly customers: readonly [ChainCustomers, ChainCustomers];
  readonly client: MerchantClient;
  readonly random: Random;
  readonly paymentsPerSecond: number;
  readonly payoutsPerSecond: number;
}

export interface Paid {
  readonly orders: readonly CreatedOrder[];
  readonly payouts: readonly CreatedPayout[];
  readonly seconds: number;
}

const BATCH_SECONDS = 5;

/** Pays, is paid and asks for statuses until `work` is done. The last batch ends first. */
export async function keepPaying(name: string, load: Load, work: Promise<unknown>): Promise<Paid> {
  const { customers, client, random, paymentsPerSecond, payoutsPerSecond } = load;
  const startedAt = performance.now();
  let isDone = false;
  const ended = work.finally(() => (isDone = true));
  ended.catch(() => undefined); // it is awaited after the last batch
  const batches: Promise<void>[] = [];
  const orders: CreatedOrder[] = [];
  const payouts: CreatedPayout[] = [];
  for (let batch = 0; !isDone; batch += 1) {
    const prefix = `${name}-${batch}`;
    const stories = planStories(
      { full: paymentsPerSecond * BATCH_SECONDS },
      customers,
      [client, client],
      random,
      prefix,
    );
    const planned = planPayouts(
      payoutsPerSecond * BATCH_SECONDS,
      [customers[0].chain, customers[1].chain],
      [client, client],
      random,
      prefix,
    );
    batches.push(
      liveThrough(stories, BATCH_SECONDS * 1_000).then((all) => void orders.push(...all)),
      payOut(planned, BATCH_SECONDS * 1_000).then((all) => void payouts.push(...all)),
    );
    await Promise.race([abortableDelay(BATCH_SECONDS * 1_000), ...batches.map(rejectionOf)]);
  }
  await Promise.all([...batches, ended]);
  return { orders, payouts, seconds: (performance.now() - startedAt) / 1_000 };
}

/** Settles only if `work` rejects. */
async function rejectionOf(work: Promise<void>): Promise<void> {
  return work.then(() => new Promise<void>(() => undefined));
}

/** Waits until `find` reports no problem. Returns the last problems, or the error of the last attempt. */
export async function findLastProblems(
  what: string,
  find: () => Promise<readonly string[]>,
  withinMs: number,
): Promise<readonly string[]> {
  let problems: readonly string[] = [];
  const isWell = async (): Promise<boolean> => {
    problems = await find().catch((error: unknown) => [`not read: ${String(error)}`]);
    return problems.length === 0;
  };
  await waitUntil(what, isWell, withinMs).catch(() => undefined);
  return problems;
}
