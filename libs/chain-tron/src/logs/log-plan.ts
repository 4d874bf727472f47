import type { Address } from '@opentill/chain/address-codec';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import { shortHexOf } from '../address-codec.ts';
import type { BlockRange } from '../reading.ts';
import type { LogFilter } from './read-logs.ts';

/** A recipient takes 138 bytes of a request, and the logs of a full block take as many as this number of recipients. */
const RECIPIENTS_PER_BLOCK = 500;
const RECIPIENTS_MAX = 10_000;
/** An address has two forms, and java-tron's `maxSubTopics` is 1,000. The rest is for canaries. */
const RECIPIENTS_PER_FILTER = 450;

export type LogPlan = ReturnType<typeof createLogPlan>;

/**
 * Decides which logs to ask for. With few recipients for the number of blocks only their logs are requested, otherwise
 * all transfers of the tokens.
 */
export function createLogPlan(watched: WatchedAddresses, tokens: readonly string[]) {
  return {
    /** The blocks must exist already (see WatchedAddresses). */
    async filtersFor({ from, to }: BlockRange): Promise<readonly LogFilter[]> {
      const max = Math.min(RECIPIENTS_MAX, RECIPIENTS_PER_BLOCK * (to - from + 1));
      const recipients = await watched.recipients(max);
      if (recipients === undefined) return [{ tokens }];
      const wallets = [...(await watched.hotWallets())].map(shortHexOf);
      return [
        ...chunksOf(recipients).map((to20) => ({ tokens, to: to20 })),
        ...(wallets.length === 0 ? [] : [{ tokens, from: wallets }]),
      ];
    },
  };
}

function chunksOf(recipients: readonly Address[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < recipients.length; at += RECIPIENTS_PER_FILTER)
    chunks.push(recipients.slice(at, at + RECIPIENTS_PER_FILTER).map(shortHexOf));
  return chunks;
}
