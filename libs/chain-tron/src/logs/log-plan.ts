import type { Address } from '@opentill/chain/address-codec';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import { shortHexOf } from '../address-codec.ts';
import type { BlockRange } from '../reading.ts';
import type { LogFilter, TokenLog } from './read-logs.ts';

/** A recipient takes 69 bytes of a request, and the logs of a full block take as many as this number of recipients. */
const RECIPIENTS_PER_BLOCK = 1_000;
const RECIPIENTS_MAX = 10_000;
/** java-tron's `maxSubTopics`. */
const RECIPIENTS_PER_FILTER = 1_000;

export type LogPlan = ReturnType<typeof createLogPlan>;

/**
 * Decides which logs to ask for. With few recipients for the number of blocks only their logs are requested, otherwise
 * all transfers of the tokens.
 *
 * Early TRON compilers wrote addresses with the prefix 41 into topics, where a filter by recipient does not find them. So
 * a token is filtered only after two sources returned transfers of it without the prefix.
 */
export function createLogPlan(watched: WatchedAddresses, tokens: readonly string[]) {
  const forms = new Map<string, { plain: boolean; prefixed: boolean }>();

  const isFiltered = (token: string): boolean => {
    const form = forms.get(token);
    return form?.plain === true && !form.prefixed;
  };

  return {
    /** The blocks must exist already (see WatchedAddresses). */
    async filtersFor({ from, to }: BlockRange): Promise<readonly LogFilter[]> {
      const filtered = tokens.filter(isFiltered);
      const max = Math.min(RECIPIENTS_MAX, RECIPIENTS_PER_BLOCK * (to - from + 1));
      const recipients = filtered.length === 0 ? undefined : await watched.recipients(max);
      if (recipients === undefined) return [{ tokens }];
      const others = tokens.filter((token) => !isFiltered(token));
      const wallets = [...(await watched.hotWallets())].map(shortHexOf);
      return [
        ...chunksOf(recipients).map((to20) => ({ tokens: filtered, to: to20 })),
        ...(wallets.length === 0 ? [] : [{ tokens: filtered, from: wallets }]),
        ...(others.length === 0 ? [] : [{ tokens: others }]),
      ];
    },
    /** Of transfers that two sources returned. */
    noteForms(logs: readonly TokenLog[]): void {
      for (const { tokenHex, isPlain } of logs) {
        const form = forms.get(tokenHex) ?? { plain: false, prefixed: false };
        form[isPlain ? 'plain' : 'prefixed'] = true;
        forms.set(tokenHex, form);
      }
    },
  };
}

function chunksOf(recipients: readonly Address[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < recipients.length; at += RECIPIENTS_PER_FILTER)
    chunks.push(recipients.slice(at, at + RECIPIENTS_PER_FILTER).map(shortHexOf));
  return chunks;
}
