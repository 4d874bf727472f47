import { sql } from 'kysely';
import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { TestBroker } from './test-broker.ts';

export interface ScanCursor {
  readonly head: number;
  readonly seen: number;
  readonly verified: number;
  readonly seenHash: string;
  /** Fencing token of the last writer. */
  readonly token: number;
}

export interface WatchedScan {
  /** Throws if there is no cursor yet. */
  cursor(): Promise<ScanCursor>;
  /** Waits until a cursor reaches a height. False after `limitMs`. */
  passed(which: 'seen' | 'verified', height: number, limitMs: number): Promise<boolean>;
  /** Takes the pending events of a type from the tracker's queue, without duplicates, which a late confirm causes. */
  takeEvents<T extends EventType>(type: T): Promise<readonly EventEnvelope<T>[]>;
}

export function watchScan(chain: Chain, admin: Db, broker: TestBroker): WatchedScan {
  const cursor = async (): Promise<ScanCursor> => {
    const { rows } = await sql<ScanCursor>`
      select head_height as head, seen_height as seen, verified_height as verified, seen_hash as "seenHash",
        fencing_token as token
      from chain_cursor where chain = ${chain}`.execute(admin);
    if (rows[0] === undefined) throw new Error('no cursor yet');
    return rows[0];
  };
  const taken = new Set<string>();
  return {
    cursor,
    async passed(which, height, limitMs) {
      const deadline = performance.now() + limitMs;
      while (performance.now() < deadline) {
        const now = await cursor().catch(() => undefined);
        if (now !== undefined && now[which] >= height) return true;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return false;
    },
    async takeEvents<T extends EventType>(type: T) {
      const messages = await broker.take(queueName('confirmation-tracker', type));
      return messages
        .map((message) => JSON.parse(message.content.toString()) as EventEnvelope<T>)
        .filter(({ id }) => !taken.has(id) && taken.add(id));
    },
  };
}

export async function raisedAlarms(metrics: { render(): Promise<string> }): Promise<readonly string[]> {
  const raised = (await metrics.render()).matchAll(/^opentill_scanner_alarm_bool\{.*kind="([^"]+)".*\} 1$/gm);
  return [...raised].map(([, kind]) => kind!);
}
