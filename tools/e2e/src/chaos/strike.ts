import { sql } from 'kysely';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { waitUntil } from '@opentill/testkit/wait-until';
import { randomInteger, shuffled, type Random } from '../random.ts';
import type { ChainCustomers } from './chain-customers.ts';
import type { ChaosGateway } from './start-chaos-gateway.ts';

export interface Fault {
  readonly name: string;
  happen(): Promise<void>;
}

export interface FaultRecord {
  readonly name: string;
  readonly atSeconds: number;
  readonly lastedMs: number;
}

/** Longest time for which a webhook-sender holds a delivery: DNS lookup, request and record. */
export const SENDER_LEASE_MS = 23_000;
const HANGS_MS = 12_000;
const AWAY_MAX_MS = 60_000;

export function killFaults({ instances, kill }: ChaosGateway, times: number): Fault[] {
  return Array.from({ length: times }, () => instances)
    .flat()
    .map((instance) => ({ name: `SIGKILL ${instance}`, happen: async () => kill(instance) }));
}

/** The longest freezes exceed a scanner's lease, so that the other replica takes over its chain. */
export function freezeFaults({ instances, freeze }: ChaosGateway, random: Random): Fault[] {
  return instances.map((instance) => {
    const forMs = randomInteger(random, 300, 7_000);
    return { name: `SIGSTOP ${instance} for ${forMs} ms`, happen: async () => freeze(instance, forMs) };
  });
}

/** Exceeds the lease of a delivery: the other replica takes it over, and the frozen one continues with it later. */
export function longFreeze({ freeze }: ChaosGateway, instance: string): Fault {
  const forMs = SENDER_LEASE_MS + 3_000;
  return { name: `SIGSTOP ${instance} for ${forMs} ms`, happen: async () => freeze(instance, forMs) };
}

/** The second shop's server refuses connections until the circuit of its endpoint opens, then hangs. */
export function receiverAway({ shops: [, { merchantId, cable }], database }: ChaosGateway): Fault {
  const isOpen = async (): Promise<boolean> => {
    const { rows } = await sql`
      select from callback_endpoint where merchant_id = ${merchantId} and state = 'OPEN'`.execute(
      database.kysely,
    );
    return rows.length > 0;
  };
  return {
    name: `the receiver of ${merchantId} refuses until its circuit opens, then hangs for ${HANGS_MS} ms`,
    async happen() {
      cable.mode = 'refuse';
      cable.reset();
      await waitUntil('the circuit opens', isOpen, AWAY_MAX_MS);
      cable.mode = 'blackhole';
      await abortableDelay(HANGS_MS);
      cable.reset();
      cable.mode = 'pass';
    },
  };
}

/** Faults that may have prevented a webhook-sender from recording an attempt. A database crash hits both replicas. */
export function countSenderFaults(records: readonly FaultRecord[]): number {
  const hits = (name: string): number =>
    /webhook-sender|receiver/.test(name) ? 1 : /Postgres/.test(name) ? 2 : 0;
  return records.reduce((sum, { name }) => sum + hits(name), 0);
}

export function databaseCrash({ servers }: ChaosGateway): Fault {
  return { name: 'Postgres stopped immediately', happen: async () => servers.restartDatabase('immediate') };
}

export function brokerCrash({ servers }: ChaosGateway): Fault {
  return { name: 'RabbitMQ killed', happen: async () => servers.restartBroker('kill') };
}

export function brokerWipe({ servers }: ChaosGateway): Fault {
  return { name: 'RabbitMQ killed and its data deleted', happen: async () => servers.wipeBroker() };
}

export function later(fault: Fault, afterMs: number): Fault {
  return {
    name: fault.name,
    async happen() {
      await abortableDelay(afterMs);
      await fault.happen();
    },
  };
}

export function reorganisations(
  customers: readonly ChainCustomers[],
  random: Random,
  times: number,
): Fault[] {
  return Array.from({ length: times }, () => customers)
    .flat()
    .map((one) => {
      const depth = randomInteger(random, 1, 2); // below the crediting depth of 3: credits stay valid
      return {
        name: `${one.chain.chain} loses ${depth} block${depth > 1 ? 's' : ''}`,
        happen: async () => one.reorganise(depth),
      };
    });
}

/** Each proxy once: connections reset or refused, delay, lost requests, or lost answers. */
export function cableFaults({ links }: ChaosGateway, random: Random): Fault[] {
  const kinds = ['reset', 'delay', 'blackhole', 'half', 'refuse'] as const;
  return [...links].map(([name, proxy], index) => {
    const kind = kinds[(index + randomInteger(random, 0, 1)) % kinds.length] ?? 'reset';
    const forMs = randomInteger(random, 500, 6_000);
    const delayMs = randomInteger(random, 20, 400);
    const label = kind === 'delay' ? `late by ${delayMs} ms` : kind;
    return {
      name: `${name}: ${label} for ${forMs} ms`,
      async happen() {
        if (kind === 'reset') {
          proxy.reset();
          return;
        }
        if (kind === 'delay') proxy.delayMs = delayMs;
        else proxy.mode = kind;
        if (kind === 'refuse') proxy.reset();
        await abortableDelay(forMs);
        proxy.delayMs = 0;
        if (kind === 'delay') return;
        proxy.reset(); // no connection continues with missing bytes
        proxy.mode = 'pass';
      },
    };
  });
}

/** Runs the faults of each list one after another, in random order and with pauses. The lists run in parallel. */
export async function strike(
  lists: readonly (readonly Fault[])[],
  random: Random,
  pauseMs: readonly [number, number],
): Promise<FaultRecord[]> {
  const startedAt = performance.now();
  const records: FaultRecord[] = [];
  const happenInTurn = async (faults: readonly Fault[], pauses: readonly number[]): Promise<void> => {
    for (const [index, fault] of faults.entries()) {
      await abortableDelay(pauses[index] ?? 0);
      const begunAt = performance.now();
      await fault.happen();
      const lastedMs = Math.round(performance.now() - begunAt);
      records.push({ name: fault.name, atSeconds: Math.round((begunAt - startedAt) / 100) / 10, lastedMs });
    }
  };
  const plans = lists.map((faults) => {
    const order = shuffled(random, faults);
    return [order, order.map(() => randomInteger(random, ...pauseMs))] as const;
  });
  await Promise.all(plans.map(async ([faults, pauses]) => happenInTurn(faults, pauses)));
  return records.toSorted((a, b) => a.atSeconds - b.atSeconds);
}
