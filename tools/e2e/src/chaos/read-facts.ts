import type { Database } from '@opentill/db/database';
import type { ReceivedCallback } from '../callback-receiver.ts';
import type { ChainCustomers } from './chain-customers.ts';
import type { Arrival, ChaosFacts } from './facts.ts';
import type { CreatedOrder } from './live-through-stories.ts';
import type { CreatedPayout } from './pay-out.ts';
import { readChainTruth } from './read-chain-truth.ts';
import { readTables } from './read-tables.ts';
import type { OpenShop } from './start-shops.ts';

/** Crediting depth of the local profile. */
const CONFIRMATIONS = 3;

export interface FactSources {
  /** With the rights of the owner. */
  readonly database: Database;
  readonly amqpUrl: string;
  readonly shops: readonly Pick<OpenShop, 'receiver'>[];
  readonly evmHotWallet: string;
}

export async function readFacts(
  { database, amqpUrl, shops, evmHotWallet }: FactSources,
  customers: readonly ChainCustomers[],
  created: readonly CreatedOrder[],
  paidOut: readonly CreatedPayout[],
  senderFaults: number,
): Promise<ChaosFacts> {
  const hotWallet = evmHotWallet.toLowerCase();
  const holders = created.map(({ address }) => address);
  const truths = await Promise.all(
    customers.map(
      async ({ chain }) =>
        [chain.chain, await readChainTruth(chain, holders, hotWallet, CONFIRMATIONS)] as const,
    ),
  );
  const tables = await readTables(database.kysely, amqpUrl);
  const touched = new Set(customers.flatMap(({ paidByTakenBack }) => [...paidByTakenBack]));
  return {
    terms: created.map((order) => ({ ...order, reorganised: touched.has(order.address) })),
    payouts: paidOut.map((payout) => ({ ...payout, reorganised: touched.has(payout.receiver) })),
    hotWallet: {
      sent: truths.flatMap(([, truth]) => truth.hotWallet.sent),
      balances: new Map(truths.flatMap(([, truth]) => [...truth.hotWallet.balances])),
      transactions: new Map(truths.map(([chain, truth]) => [chain, truth.hotWallet.transactions])),
    },
    transfers: truths.flatMap(([, { transfers }]) => transfers),
    balances: new Map(truths.flatMap(([, { balances }]) => [...balances])),
    decidedUntilSeconds: new Map(truths.map(([chain, truth]) => [chain, truth.decidedUntilSeconds])),
    takenBack: new Set(customers.flatMap(({ takenBack }) => [...takenBack])),
    arrivals: shops.flatMap(({ receiver }) => receiver.received.map(toArrival)),
    senderFaults,
    tables,
  };
}

function toArrival({ nonce, notifyType, data, text, problems }: ReceivedCallback): Arrival {
  const marker = '"data":';
  const dataText = text.slice(text.indexOf(marker) + marker.length, -1);
  return { nonce, notifyType, dataText, data, signatureProblems: problems };
}
