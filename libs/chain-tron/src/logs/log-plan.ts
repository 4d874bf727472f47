import type { Address } from '@opentill/chain/address-codec';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import { shortHexOf } from '../address-codec.ts';
import type { BlockRange } from '../reading.ts';
import type { Beacons } from './beacons.ts';
import type { LogFilter } from './read-logs.ts';

/** A recipient takes 138 bytes of a request, and the logs of a full block take as many as this number of recipients. */
const RECIPIENTS_PER_BLOCK = 500;
const RECIPIENTS_MAX = 10_000;
/** An address has two forms, and java-tron's `maxSubTopics` is 1,000. The rest is for beacons. */
const ADDRESSES_PER_FILTER = 450;

export type LogPlan = ReturnType<typeof createLogPlan>;

export interface PlannedLogs {
  readonly filters: readonly LogFilter[];
  /** Undefined if the only filter asks for all transfers. */
  readonly recipients: ReadonlySet<Address> | undefined;
}

/**
 * Decides which logs to ask for. With few recipients for the number of blocks only their logs are requested, together with
 * those of the beacons, which are the last alternatives. Otherwise all transfers of the tokens.
 */
export function createLogPlan(watched: WatchedAddresses, tokens: readonly string[]) {
  return {
    /** The blocks must exist already (see WatchedAddresses). */
    async planFor({ from, to }: BlockRange, beacons: Beacons | undefined): Promise<PlannedLogs> {
      const max = Math.min(RECIPIENTS_MAX, RECIPIENTS_PER_BLOCK * (to - from + 1));
      const recipients = beacons && (await watched.recipients(max));
      if (beacons === undefined || recipients === undefined)
        return { filters: [{ tokens }], recipients: undefined };
      const toEach = chunksOf(recipients).map((some) => ({
        tokens,
        to: [...some, ...beacons.to],
        proves: ({ toHex }) => beacons.to.has(toHex),
      })) satisfies readonly LogFilter[];
      const fromEach = chunksOf([...(await watched.hotWallets())]).map((some) => ({
        tokens,
        from: [...some, ...beacons.from],
        proves: ({ fromHex }) => beacons.from.has(fromHex),
      })) satisfies readonly LogFilter[];
      return { filters: [...toEach, ...fromEach], recipients: new Set(recipients) };
    },
  };
}

function chunksOf(addresses: readonly Address[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < addresses.length; at += ADDRESSES_PER_FILTER)
    chunks.push(addresses.slice(at, at + ADDRESSES_PER_FILTER).map(shortHexOf));
  return chunks;
}
